package redlatchgocron_test

import (
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/nodes"
	"github.com/redlatch/redlatch/internal/redistest"
)

// lease is how long the others wait for a node that was killed.
const lease = 2 * time.Second

// A job that takes no time, on three nodes, runs once at each tick, although the other nodes tick when it has ended.
func TestLockerEverySecond(t *testing.T) {
	t.Parallel()
	nodes.EverySecond(t, nodes.Spec{Redis: redistest.Start(t).Addr(), Lease: lease, MinHold: 900 * time.Millisecond}, 8)
}

// Without a minimum hold the nodes run it one after the other: gocron#841.
func TestLockerWithoutMinHold(t *testing.T) {
	t.Parallel()
	nodes.Twice(t, nodes.Spec{Redis: redistest.Start(t).Addr(), Lease: lease})
}

func TestLockerTakesOver(t *testing.T) {
	t.Parallel()
	nodes.TakesOver(t, nodes.Spec{Redis: redistest.Start(t).Addr(), Lease: lease, MinHold: 900 * time.Millisecond})
}

func TestElectorEverySecond(t *testing.T) {
	t.Parallel()
	nodes.EverySecond(t, nodes.Spec{Redis: redistest.Start(t).Addr(), How: elected, Lease: lease, MinHold: 900 * time.Millisecond}, 8)
}

func TestElectorTakesOver(t *testing.T) {
	t.Parallel()
	nodes.TakesOver(t, nodes.Spec{Redis: redistest.Start(t).Addr(), How: elected, Lease: lease, MinHold: 900 * time.Millisecond})
}
