package report

import (
	"image/color"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/redlatch/redlatch/benchmarks/internal/bench"
)

var (
	ours   = color.RGBA{R: 0xc6, G: 0x30, B: 0x2b, A: 0xff}
	theirs = color.RGBA{R: 0x8a, G: 0x99, B: 0xa6, A: 0xff}
)

// Plot draws a file for each workload: how many acquisitions, and how long the waits
// were.
func Plot(dir string, res *bench.Result) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, s := range res.Workloads {
		if err := plotSection(filepath.Join(dir, plotOf(s)), s); err != nil {
			return err
		}
	}
	return nil
}

// plotOf is the name of a workload's file.
func plotOf(s bench.Section) string { return s.Name + ".svg" }

func plotSection(path string, s bench.Section) error {
	rows := slices.Clone(s.Rows)
	slices.Reverse(rows) // the first is to be on top
	rates, err := rates(s.Title, rows)
	if err != nil {
		return err
	}
	waits, err := waits(rows)
	if err != nil {
		return err
	}
	canvas := vgsvg.New(24*vg.Centimeter, vg.Length(3+len(rows))*vg.Centimeter)
	dc := draw.New(canvas)
	dc.SetColor(color.White) // the page behind may be dark
	dc.Fill(dc.Rectangle.Path())
	tiles := draw.Tiles{Rows: 1, Cols: 2, PadX: 5 * vg.Millimeter, PadTop: 2 * vg.Millimeter, PadRight: 5 * vg.Millimeter, PadBottom: 2 * vg.Millimeter, PadLeft: 2 * vg.Millimeter}
	for i, p := range []*plot.Plot{rates, waits} {
		p.Draw(tiles.At(dc, i, 0))
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	if _, err := canvas.WriteTo(f); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

// newPlot is a plot in letters without serifs, which are those of most pages.
func newPlot(title string) *plot.Plot {
	plot.DefaultFont = font.Font{Typeface: "Liberation", Variant: "Sans"}
	p := plot.New()
	p.Title.Text = title
	return p
}

// rates are bars of throughput.
func rates(title string, rows []bench.Row) (*plot.Plot, error) {
	p := newPlot(title)
	p.X.Label.Text = "acquisitions per second"
	p.X.Min = 0
	for i, row := range rows {
		bar, err := plotter.NewBarChart(plotter.Values{row.PerSecond}, 6*vg.Millimeter)
		if err != nil {
			return nil, err
		}
		bar.Horizontal = true
		bar.XMin = float64(i)
		bar.LineStyle.Width = 0
		bar.Color = colorOf(row)
		p.Add(bar)
	}
	figures, err := figuresAtBars(rows)
	if err != nil {
		return nil, err
	}
	p.Add(figures)
	p.NominalY(names(rows)...)
	p.Y.Padding = 5 * vg.Millimeter // a reader without this font may see wider letters: the bars would cut the names off
	align(p, rows)
	p.X.Max *= 1.15 // for the figure at the longest bar
	return p, nil
}

// figuresAtBars are for the bars that one much longer makes too short to see.
func figuresAtBars(rows []bench.Row) (*plotter.Labels, error) {
	var at plotter.XYLabels
	for i, row := range rows {
		at.XYs = append(at.XYs, plotter.XY{X: row.PerSecond, Y: float64(i)})
		at.Labels = append(at.Labels, thousands(int(math.Round(row.PerSecond))))
	}
	labels, err := plotter.NewLabels(at)
	if err != nil {
		return nil, err
	}
	labels.Offset.X = vg.Millimeter
	for i := range labels.TextStyle {
		labels.TextStyle[i].Font = font.From(plot.DefaultFont, 10)
		labels.TextStyle[i].YAlign = draw.YCenter
	}
	return labels, nil
}

// waits are lines from the median to the longest, with a mark at the 99th percentile.
func waits(rows []bench.Row) (*plot.Plot, error) {
	p := newPlot("wait: p50, p99 (disc), longest")
	p.X.Scale = plot.LogScale{}
	p.X.Tick.Marker = plot.TickerFunc(decades)
	for i, row := range rows {
		y := float64(i)
		points := plotter.XYs{{X: micros(row.P50), Y: y}, {X: micros(row.P99), Y: y}, {X: micros(row.Max), Y: y}}
		line, marks, err := plotter.NewLinePoints(points)
		if err != nil {
			return nil, err
		}
		line.Color, line.Width = colorOf(row), vg.Points(2)
		marks.GlyphStyleFunc = func(n int) draw.GlyphStyle {
			style := draw.GlyphStyle{Color: colorOf(row), Radius: vg.Points(3), Shape: draw.BoxGlyph{}}
			if n == 1 {
				style.Radius, style.Shape = vg.Points(5), draw.CircleGlyph{}
			}
			return style
		}
		p.Add(line, marks)
	}
	p.NominalY(make([]string, len(rows))...) // the names are at the bars
	p.X.Label.Text = "logarithmic"           // and keeps the axis as high as the other
	align(p, rows)
	return p, nil
}

// align gives both halves of a picture the same lines.
func align(p *plot.Plot, rows []bench.Row) {
	p.Y.Min, p.Y.Max = -0.5, float64(len(rows))-0.5
}

// micros is at least a tenth of one: the axis has no zero.
func micros(d time.Duration) float64 { return max(0.1, float64(d)/float64(time.Microsecond)) }

// decades marks powers of ten by their times.
func decades(lowest, highest float64) (ticks []plot.Tick) {
	for v := 0.1; v <= highest*10; v *= 10 {
		if v >= lowest/10 {
			label := time.Duration(v * float64(time.Microsecond)).Round(100 * time.Nanosecond).String()
			ticks = append(ticks, plot.Tick{Value: v, Label: label})
		}
	}
	return ticks
}

func colorOf(row bench.Row) color.Color {
	if strings.HasPrefix(row.Peer, "redlatch") {
		return ours
	}
	return theirs
}

func names(rows []bench.Row) (all []string) {
	for _, row := range rows {
		all = append(all, row.Peer)
	}
	return all
}
