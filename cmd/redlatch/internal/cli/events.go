package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/pflag"
)

// events tells what happens to a run: for people with -v, as lines of JSON with --json or --events-fd.
type events struct {
	verbose bool
	fd      int
	text    io.Writer
	lines   io.Writer
}

func (e *events) flags(f *pflag.FlagSet) {
	f.BoolVarP(&e.verbose, "verbose", "v", false, "say on stderr what happens")
	f.IntVar(&e.fd, "events-fd", 0, "write what happens to this open file as lines of JSON; --json writes them to stderr")
}

func (e *events) open(a *app) error {
	if e.verbose {
		e.text = a.errs
	}
	switch {
	case e.fd > 0:
		file := os.NewFile(uintptr(e.fd), "events")
		if _, err := file.Stat(); err != nil {
			return usage("--events-fd %d: %w", e.fd, err)
		}
		e.lines = file
	case a.json:
		e.lines, e.text = a.errs, nil
	}
	return nil
}

// tell tells one event.
func (r *runner) tell(event, format string, args ...any) {
	says := fmt.Sprintf(format, args...)
	if r.lines != nil {
		_ = printJSON(r.lines, struct {
			At    time.Time `json:"at"`
			Lock  string    `json:"lock"`
			Event string    `json:"event"` // acquired, busy, nested, done, lost, ended
			Says  string    `json:"says"`
		}{time.Now(), r.name, event, says})
	}
	if r.text != nil {
		fmt.Fprintf(r.text, "redlatch: %s: %s, %s\n", r.name, event, says)
	}
}

// causeOf is why a hold has ended.
func causeOf(h hold) error {
	if err := context.Cause(h.Context()); err != nil {
		return err
	}
	return fmt.Errorf("not known")
}
