package report

import (
	"fmt"
	"io"
	"os"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// Progress shows how far a run has come: a bar on a terminal, elsewhere a line for
// each step.
type Progress struct {
	out io.Writer
	bar *progressbar.ProgressBar // nil if out is no terminal
}

// NewProgress shows progress on a file, usually standard error.
func NewProgress(out *os.File) *Progress {
	p := &Progress{out: out}
	if term.IsTerminal(int(out.Fd())) {
		p.bar = progressbar.NewOptions(1,
			progressbar.OptionSetWriter(out),
			progressbar.OptionShowCount(),
			progressbar.OptionSetPredictTime(true),
			progressbar.OptionFullWidth(),
			progressbar.OptionClearOnFinish(),
		)
	}
	return p
}

// Step says what is done next.
func (p *Progress) Step(done, total int, what string) {
	if p.bar == nil {
		fmt.Fprintf(p.out, "%d/%d %s\n", done, total, what)
		return
	}
	p.bar.ChangeMax(total)
	p.bar.Describe(what)
	_ = p.bar.Set(done) // fails only beyond total
}

// End leaves the terminal to others.
func (p *Progress) End() {
	if p.bar != nil {
		_ = p.bar.Finish() // nothing is lost with the bar
	}
}
