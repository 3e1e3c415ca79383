package bench

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// percentile is the smallest value that so large a share of the sorted values does
// not exceed; 0 without values.
func percentile[T cmp.Ordered](sorted []T, share float64) (zero T) {
	if len(sorted) == 0 {
		return zero
	}
	return sorted[max(0, int(math.Ceil(share*float64(len(sorted))))-1)]
}

// median is the lower one of an even number.
func median[T cmp.Ordered](values []T) T {
	return percentile(slices.Sorted(slices.Values(values)), 0.5)
}

// mean is 0 without values.
func mean(values []time.Duration) time.Duration {
	var sum time.Duration
	for _, v := range values {
		sum += v
	}
	return sum / time.Duration(max(1, len(values)))
}

// jain is Jain's index of fairness: 1 when all have the same, 1/n when one has all.
func jain(shares []int) float64 {
	var sum, squares float64
	for _, share := range shares {
		sum += float64(share)
		squares += float64(share) * float64(share)
	}
	if squares == 0 {
		return 0
	}
	return sum * sum / (float64(len(shares)) * squares)
}
