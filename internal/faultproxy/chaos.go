package faultproxy

import "math/rand/v2"

// Chaos adds a rule that acts on each request picked by match with the given
// probability, by an action drawn from actions. A nil match picks every request.
//
// The draws depend on nothing but the seed and the order in which requests are
// picked, so a test that sends them one after the other can be repeated.
func (p *Proxy) Chaos(seed uint64, probability float64, match func(args []string) bool, actions ...Action) *RuleHandle {
	if len(actions) == 0 {
		panic("faultproxy: Chaos without actions")
	}
	return p.add(Rule{Match: match}, &chaos{
		rand:        rand.New(rand.NewPCG(seed, seed)),
		probability: probability,
		actions:     actions,
	})
}

// chaos is guarded by the proxy's mu.
type chaos struct {
	rand        *rand.Rand
	probability float64
	actions     []Action
}

// draw always takes two numbers, so that the second does not shift the sequence
// that decides whether to act.
func (c *chaos) draw() (Action, bool) {
	act, which := c.rand.Float64() < c.probability, c.rand.IntN(len(c.actions))
	return c.actions[which], act
}
