package main

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"strings"
	"time"
)

// The picture's measures, in pixels.
const (
	picture = 760
	left    = 78 // where the time axis begins
	right   = 748
	lane    = 42
	bar     = 14
	keyLane = 30
)

// style names the colours once for light and once for dark.
const style = `<style>
text{font:12px system-ui,-apple-system,"Segoe UI",sans-serif;fill:#1f2328}
.h{font-size:15px;font-weight:600}.w{font-weight:600}.m,.a{fill:#59636e}.a,.l{font-size:10px}
.c{font:11px ui-monospace,Consolas,monospace;fill:#59636e}
.bg{fill:#fff}.g{stroke:#d1d9e0}.in{fill:#54aeff}.two{fill:#d1242f}.col{fill:#d1242f;opacity:.1}
.key{fill:#8250df;opacity:.35}.for{fill:#9a6700;opacity:.5}.try{stroke:#59636e}.e{fill:#1f2328}
.bad{fill:#d1242f;font-weight:600}.good{fill:#1a7f37;font-weight:600}
@media (prefers-color-scheme:dark){
text,.e{fill:#f0f6fc}.m,.a,.c{fill:#9198a1}.bg{fill:#0d1117}.g{stroke:#3d444d}.in{fill:#1f6feb}
.two{fill:#f85149}.col{fill:#f85149;opacity:.15}.key{fill:#a371f7}.for{fill:#d29922}.try{stroke:#9198a1}
.bad{fill:#f85149}.good{fill:#3fb950}}
</style>
`

// canvas is a picture that grows downwards.
type canvas struct {
	bytes.Buffer
	y   int           // the next free line
	end time.Duration // of the time axis
}

// draw makes the picture of a rung: each act with its lanes and its verdict.
func draw(r rung, played []*recording) []byte {
	c := &canvas{y: 26}
	c.text(12, c.y, "h", fmt.Sprintf("%d. %s", r.number, r.title))
	for _, rec := range played {
		c.end = max(c.end, rec.length) // one scale for all acts
	}
	var told []string
	for i, a := range r.acts {
		v := a.judge(played[i])
		c.act(a, played[i], v)
		told = append(told, a.who+": "+v.String())
	}
	c.legend()
	head := fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%[1]d" height="%d" role="img">`+"\n",
		picture, c.y, c.y)
	head += fmt.Sprintf("<title>%s</title>\n<desc>%s</desc>\n", escape(r.title), escape(strings.Join(told, " ")))
	head += style + fmt.Sprintf(`<rect class="bg" width="%d" height="%d"/>`+"\n", picture, c.y)
	return []byte(head + c.String() + "</svg>\n")
}

// act draws one act.
func (c *canvas) act(a act, rec *recording, v verdict) {
	c.y += 26
	c.text(12, c.y, "w", a.who)
	for _, line := range a.code {
		c.y += 15
		c.text(left, c.y, "c", line)
	}
	c.y += 8
	top, height := c.y, len(rec.actors)*lane+len(rec.tracks)*keyLane
	c.axis(rec, top, height)
	all := rec.overlaps()
	for _, o := range all {
		c.rect("col", o.from, o.to, top, height)
	}
	for _, who := range rec.actors {
		c.actor(rec, who, all)
	}
	for _, t := range rec.tracks {
		c.key(rec, t, a.lease)
	}
	c.y += 14
	class := "good"
	if v.failure != "" {
		class = "bad"
	}
	for _, line := range wrap(v.String(), 100) {
		c.y += 16
		c.text(12, c.y, class, line)
	}
}

// axis draws a line every 100 ms, or for an act that was played slower as many lines.
func (c *canvas) axis(rec *recording, top, height int) {
	for at := time.Duration(0); at <= rec.length; at += rec.t(100 * time.Millisecond) {
		fmt.Fprintf(c, `<path class="g" d="M%.1f %dv%d"/>`, c.x(at), top, height)
		unit := ""
		if at == 0 {
			unit = " ms"
		}
		x := min(int(c.x(at)), right-18) // the last one must not run over the edge
		c.text(x, top+height+11, "a", ms(at)+unit)
	}
	c.WriteByte('\n')
}

// actor draws one lane: what the actor did, and when it was inside.
func (c *canvas) actor(rec *recording, who string, all []overlap) {
	base := c.y + lane - bar - 2
	c.text(12, base+11, "", who)
	for _, s := range rec.sections {
		if s.who == who {
			c.rect("in", s.from, s.to, base, bar)
		}
	}
	for _, o := range all {
		if o.a == who || o.b == who {
			c.rect("two", o.from, o.to, base, bar)
		}
	}
	var tries strings.Builder
	for _, e := range rec.events {
		if e.who == who && e.effect == try {
			fmt.Fprintf(&tries, "M%.0f %dv6", c.x(e.at), base+bar-6)
		}
	}
	if tries.Len() > 0 {
		fmt.Fprintf(c, `<path class="try" d="%s"/>`, &tries)
	}
	c.WriteByte('\n')
	c.marks(rec, who, c.y)
	c.y += lane
}

// legend explains the colours.
func (c *canvas) legend() {
	c.y += 24
	x := 12
	for _, part := range []struct{ class, text string }{
		{"in", "inside"}, {"two", "two at once"}, {"key", "the key in Redis, as high as its TTL"}, {"for", "without a TTL"},
	} {
		fmt.Fprintf(c, `<rect class="%s" x="%d" y="%d" width="10" height="10"/>`, part.class, x, c.y-9)
		c.text(x+14, c.y, "a", part.text)
		x += 34 + 6*len(part.text)
	}
	fmt.Fprintf(c, `<path class="try" d="M%d %dv6"/>`, x, c.y-7)
	c.text(x+5, c.y, "a", "asked in vain")
	c.WriteByte('\n')
	c.y += 12
}

func (c *canvas) x(at time.Duration) float64 {
	return left + float64(right-left)*float64(at)/float64(c.end)
}

func (c *canvas) rect(class string, from, to time.Duration, y, height int) {
	fmt.Fprintf(c, `<rect class="%s" x="%.1f" y="%d" width="%.1f" height="%d"/>`+"\n",
		class, c.x(from), y, max(c.x(to)-c.x(from), 1), height)
}

func (c *canvas) text(x, y int, class, text string) {
	if class != "" {
		class = ` class="` + class + `"`
	}
	fmt.Fprintf(c, `<text%s x="%d" y="%d">%s</text>`+"\n", class, x, y, escape(text))
}

func escape(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // a Builder takes everything
	return b.String()
}
