package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
)

// width is that of the narrowest terminal for which this is made, line end included.
const width = 100

// printer tells acts in a terminal.
type printer struct {
	out    io.Writer
	colour bool
}

// newPrinter uses colour on a terminal, unless NO_COLOR says not to.
func newPrinter(out io.Writer) *printer {
	p := &printer{out: out}
	if file, ok := out.(*os.File); ok && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" {
		info, err := file.Stat()
		p.colour = err == nil && info.Mode()&os.ModeCharDevice != 0
	}
	return p
}

const (
	bold  = "1"
	faint = "2"
	red   = "31"
	green = "32"
)

func (p *printer) paint(style, text string) string {
	if !p.colour || text == "" {
		return text
	}
	return "\x1b[" + style + "m" + text + "\x1b[0m"
}

func (p *printer) introduce(where string) {
	fmt.Fprintf(p.out, "Locks that people write, rung by rung, on %s.\n", where)
	fmt.Fprintf(p.out, "anna, bert and carl are processes. Times are scaled down: the lease is %s ms.\n", ms(lease))
}

func (p *printer) title(r rung) {
	fmt.Fprintf(p.out, "\n%s\n", p.paint(bold, fmt.Sprintf("%d. %s", r.number, r.title)))
	fmt.Fprintf(p.out, "   has by now: %s\n", r.mends)
}

func (p *printer) drew(file string) { fmt.Fprintf(p.out, "\n   drawn: %s\n", file) }

// act prints the idea, what happened, who was inside when, and the verdict.
func (p *printer) act(a act, rec *recording) {
	fmt.Fprintf(p.out, "\n   %s\n", p.paint(bold, a.who))
	for _, line := range a.code {
		fmt.Fprintf(p.out, "      %s\n", line)
	}
	fmt.Fprintln(p.out)
	for _, row := range rows(rec) {
		what := fmt.Sprintf("%-16s", row.what)
		if row.effect == grave {
			what = p.paint(bold, what)
		}
		line := fmt.Sprintf("%s  %-8s  %s  %s", p.paint(faint, fmt.Sprintf("%6d ms", row.at.Milliseconds())), row.who, what, row.came)
		fmt.Fprintln(p.out, strings.TrimRight(line, " "))
	}
	fmt.Fprintln(p.out)
	p.chart(rec)
	v := a.judge(rec)
	style := green
	if v.failure != "" {
		style = red
	}
	fmt.Fprintln(p.out)
	for _, line := range wrap(v.String(), width-4) {
		fmt.Fprintf(p.out, "   %s\n", p.paint(style, line))
	}
	if rec.slow > 1 {
		fmt.Fprintf(p.out, "   This machine is busy: it was played %d times slower.\n", rec.slow)
	}
	if rec.stoodStill() {
		fmt.Fprintf(p.out, "   It stood still for %s ms even so: what is told here may be another story.\n", ms(rec.stall))
	}
}

// rows are the events, with what happened to the key, and with one row for all tries of
// an actor in a row.
func rows(rec *recording) (all []event) {
	tries := map[string]int{} // by actor: 1 + the index of its row
	times := map[string]int{}
	for _, e := range rec.events {
		if e.effect != try {
			tries[e.who] = 0
			all = append(all, e)
			continue
		}
		if tries[e.who] == 0 {
			all = append(all, e)
			tries[e.who], times[e.who] = len(all), 0
		}
		times[e.who]++
		row := &all[tries[e.who]-1]
		row.came = fmt.Sprintf("%s, asked %d times, until %s ms", e.came, times[e.who], ms(e.at))
	}
	all = append(all, keyEvents(rec)...)
	slices.SortStableFunc(all, func(a, b event) int { return int(a.at - b.at) })
	return all
}

// keyEvents are the ends of the key's holders, as the onlooker saw them.
func keyEvents(rec *recording) (all []event) {
	for _, t := range rec.tracks {
		for _, l := range t.lives() {
			if l.gone {
				all = append(all, event{at: l.to, who: t.server, what: "key is gone",
					came: fmt.Sprintf("was %s; of its lease %d ms were left at the last look", whose(l.holder), l.left().Milliseconds())})
			}
		}
	}
	return all
}

// whose names the holder, as far as the key's value tells.
func whose(holder string) string {
	if holder == "1" {
		return "1 (whose?)"
	}
	return holder + "'s"
}

// chart draws who was inside, and whose the key was, over time.
func (p *printer) chart(rec *recording) {
	const cells = width - 16
	at := func(d time.Duration) int { return min(int(int64(d)*cells/int64(rec.length+1)), cells-1) }
	all := rec.overlaps()
	for _, who := range rec.actors {
		line := []byte(strings.Repeat(" ", cells))
		for _, s := range rec.sections {
			if s.who == who {
				fill(line, at(s.from), at(s.to), '=')
			}
		}
		for _, o := range all {
			if o.a == who || o.b == who {
				fill(line, at(o.from), at(o.to), '!')
			}
		}
		p.lane(who, string(line))
	}
	for _, t := range rec.tracks {
		end := t.until
		if end == 0 {
			end = rec.length
		}
		line := []byte(strings.Repeat(".", at(end)+1))
		for _, l := range t.lives() {
			fill(line, at(l.from), at(min(l.to, end)), l.holder[0])
		}
		p.lane(t.server, string(line))
	}
}

func fill(line []byte, from, to int, with byte) {
	for i := from; i <= to; i++ {
		line[i] = with
	}
}

func (p *printer) lane(who, line string) {
	line = strings.TrimRight(line, " ")
	if from, to := strings.Index(line, "!"), strings.LastIndex(line, "!"); from >= 0 {
		line = line[:from] + p.paint(red, line[from:to+1]) + line[to+1:]
	}
	fmt.Fprintln(p.out, strings.TrimRight(fmt.Sprintf("   %-9s |%s", who, line), " "))
}

// wrap breaks text into lines of at most that many bytes.
func wrap(text string, most int) (lines []string) {
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && len(line)+1+len(word) > most {
			lines, line = append(lines, line), ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}
