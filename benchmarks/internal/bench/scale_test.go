//go:build unix

package bench

import "testing"

func TestFiguresOfScale(t *testing.T) {
	s := Scaling{Sizes: []int{10, 100}}
	for round := range 3 {
		for size := range s.Sizes {
			s.add(size, []sample{{what: "cost", value: float64((round + 1) * (1 + 9*size))}})
		}
	}
	s.finish()
	f, ok := s.Figure("cost")
	if !ok || f.Values[0] != 2 || f.Values[1] != 20 || f.Growth() != 10 {
		t.Errorf("%+v, want the medians 2 and 20", f)
	}
	if f.Limited, f.AtMost = true, 19; f.Met() {
		t.Error("20 is at most 19")
	}
	if f.AtMost = 20; !f.Met() {
		t.Error("20 is not at most 20")
	}
	if got := (Figure{Values: []float64{0, 5}}).Growth(); got != 0 {
		t.Errorf("from nothing: %v", got)
	}
}
