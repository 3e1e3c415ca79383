package pictures

import (
	"bytes"
	"encoding/xml"
	"fmt"
)

const width = 800

// style names the colours once for light and once for dark. Text is at least 12 px.
const style = `<style>
text{font:13px system-ui,-apple-system,"Segoe UI",sans-serif;fill:#1f2328}
.h{font-size:16px;font-weight:600}.w{font-weight:600}.m{fill:#59636e;font-size:12px}
.c{font:12px ui-monospace,Consolas,monospace}.bad{fill:#d1242f;font-weight:600}.good{fill:#1a7f37;font-weight:600}
.bg{fill:#fff}.line{stroke:#afb8c1}.dash{stroke:#afb8c1;stroke-dasharray:4 4}.arrow{stroke:#57606a;fill:none}.tip{fill:#57606a}
.hold{fill:#54aeff}.lease{fill:#8250df;opacity:.3}.lost{fill:#d1242f}.dark{fill:#d1242f;opacity:.15}.other{fill:#4ac26b}.dot{fill:#1f2328}
@media (prefers-color-scheme:dark){
text{fill:#f0f6fc}.m{fill:#9198a1}.bad{fill:#f85149}.good{fill:#3fb950}.bg{fill:#0d1117}
.line,.dash{stroke:#3d444d}.arrow{stroke:#9198a1}.tip{fill:#9198a1}
.hold{fill:#1f6feb}.lease{fill:#a371f7;opacity:.35}.lost{fill:#f85149}.dark{fill:#f85149;opacity:.2}.other{fill:#238636}.dot{fill:#f0f6fc}}
</style>
`

// canvas is a picture.
type canvas struct{ bytes.Buffer }

func (c *canvas) text(x, y float64, class, anchor, text string) {
	fmt.Fprintf(c, `<text class="%s" x="%.1f" y="%.1f" text-anchor="%s">%s</text>`+"\n", class, x, y, anchor, escape(text))
}

func (c *canvas) box(class string, x, y, w, h float64) {
	fmt.Fprintf(c, `<rect class="%s" x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="3"/>`+"\n", class, x, y, w, h)
}

func (c *canvas) line(class string, x1, y1, x2, y2 float64) {
	fmt.Fprintf(c, `<path class="%s" d="M%.1f %.1fL%.1f %.1f"/>`+"\n", class, x1, y1, x2, y2)
}

func (c *canvas) dot(x, y float64) {
	fmt.Fprintf(c, `<circle class="dot" cx="%.1f" cy="%.1f" r="3.5"/>`+"\n", x, y)
}

// arrow is a horizontal arrow with its text above.
func (c *canvas) arrow(x1, x2, y float64, text string) {
	tip := 7.0
	if x2 < x1 {
		tip = -tip
	}
	c.line("arrow", x1, y, x2-tip, y)
	fmt.Fprintf(c, `<path class="tip" d="M%.1f %.1fl%.1f -4v8z"/>`+"\n", x2, y, -tip)
	c.text((x1+x2)/2, y-7, "c", "middle", text)
}

// svg is the whole picture.
func (c *canvas) svg(height int, title, says string) []byte {
	var out bytes.Buffer
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%[1]d" height="%d" role="img">`+"\n", width, height, height)
	fmt.Fprintf(&out, "<title>%s</title>\n<desc>%s</desc>\n", escape(title), escape(says))
	fmt.Fprintf(&out, style+`<rect class="bg" width="%d" height="%d"/>`+"\n", width, height)
	out.Write(c.Bytes())
	out.WriteString("</svg>\n")
	return out.Bytes()
}

func escape(text string) string {
	var b bytes.Buffer
	_ = xml.EscapeText(&b, []byte(text)) // a buffer takes everything
	return b.String()
}
