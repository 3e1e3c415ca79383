package paired

// Order is the order of n contenders in one sweep, in which each has one slice. Over 2n
// sweeps each follows each other equally often (a Williams design), so that nobody always
// works behind the same neighbour. With two it is AB, BA, AB, BA.
func Order(n, sweep int) []int {
	order := make([]int, n)
	for i := range order {
		// 0, 1, n-1, 2, n-2 and so on, moved on by one each sweep
		step := (i + 1) / 2
		if i%2 == 0 {
			step = n - step
		}
		order[i] = (step + sweep) % n
	}
	if (sweep/n)%2 == 1 { // an odd number needs the reverse of each, too
		for i, j := 0, n-1; i < j; i, j = i+1, j-1 {
			order[i], order[j] = order[j], order[i]
		}
	}
	return order
}
