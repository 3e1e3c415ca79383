// Package paired compares figures that were measured in turns. What slows the machine
// down for a while hits neighbours alike, so their ratio says more than either figure.
package paired

import (
	"slices"

	"golang.org/x/perf/benchmath"
)

// Ratio is the median of the ratios of neighbours, with its spread.
type Ratio struct {
	Median float64
	Lo, Hi float64 // 95 % interval of the median, by order statistics
	Q1, Q3 float64 // half of the ratios are between them
	Pairs  int
}

// confidence is that of the interval.
const confidence = 0.95

// enough is the fewest pairs whose least and greatest are a 95 % interval.
const enough = 6

// Beyond stands for the ratio of something to nothing. JSON has no infinity.
const Beyond = 1000

// Of takes the ratio a/b of each pair. A pair of two zeros tells nothing and is left
// out.
func Of(a, b []float64) Ratio {
	var ratios []float64
	for i := range min(len(a), len(b)) {
		switch {
		case b[i] > 0:
			ratios = append(ratios, min(a[i]/b[i], Beyond))
		case a[i] > 0:
			ratios = append(ratios, Beyond)
		}
	}
	return summarize(ratios)
}

// Known reports whether there were enough pairs for the interval.
func (r Ratio) Known() bool { return r.Pairs >= enough }

func summarize(ratios []float64) Ratio {
	n := len(ratios)
	if n == 0 {
		return Ratio{}
	}
	slices.Sort(ratios)
	sum := benchmath.AssumeNothing.Summary(benchmath.NewSample(ratios, &benchmath.DefaultThresholds), confidence)
	// With too few pairs the ends are infinite; what was seen is between these.
	return Ratio{
		Median: sum.Center, Lo: max(sum.Lo, ratios[0]), Hi: min(sum.Hi, ratios[n-1]),
		Q1: ratios[n/4], Q3: ratios[n-1-n/4], Pairs: n,
	}
}
