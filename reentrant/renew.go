package reentrant

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/redlatch/redlatch/lua"
	"github.com/redlatch/redlatch/watchdog"
)

// renewAtOnce is how many slots of a cluster are renewed at the same time.
const renewAtOnce = 16

// renewer makes the watchdog's function on p: one script for the whole batch or,
// in a cluster, where a script may only touch one slot, one for each slot.
func renewer(p lua.Processor, clustered bool) watchdog.RenewFunc {
	if !clustered {
		return func(ctx context.Context, targets []watchdog.Target, lease time.Duration) []watchdog.Result {
			return renewTogether(ctx, p, targets, lease)
		}
	}
	return func(ctx context.Context, targets []watchdog.Target, lease time.Duration) []watchdog.Result {
		slots := make(map[uint16][]int) // indices into targets
		for i, t := range targets {
			slot := slotOf(t.Key)
			slots[slot] = append(slots[slot], i)
		}
		return renewSlots(ctx, p, targets, slots, lease)
	}
}

// renewSlots renews each slot by a script of its own, several at a time. It returns
// when ctx ends: one node that does not answer must not cost the locks on the
// others their renewal. What is not known by then has failed.
func renewSlots(ctx context.Context, p lua.Processor, targets []watchdog.Target, slots map[uint16][]int, lease time.Duration) []watchdog.Result {
	type answer struct {
		indices []int
		results []watchdog.Result
	}
	// Room for all answers: a late one must find its goroutine's way out.
	answers := make(chan answer, len(slots))
	room := make(chan struct{}, renewAtOnce)
	for _, indices := range slots {
		go func() { // ends with its command, or with ctx before it
			select {
			case room <- struct{}{}:
			case <-ctx.Done():
				return
			}
			defer func() { <-room }()
			part := make([]watchdog.Target, len(indices))
			for i, index := range indices {
				part[i] = targets[index]
			}
			answers <- answer{indices, renewTogether(ctx, p, part, lease)}
		}()
	}
	results := make([]watchdog.Result, len(targets))
	for range slots {
		select {
		case a := <-answers:
			for i, index := range a.indices {
				results[index] = a.results[i]
			}
		case <-ctx.Done():
			return results // the zero Result is a failure
		}
	}
	return results
}

// renewTogether renews all targets by one script.
func renewTogether(ctx context.Context, p lua.Processor, targets []watchdog.Target, lease time.Duration) []watchdog.Result {
	tenants := make([]lua.Tenant, len(targets))
	for i, t := range targets {
		tenants[i] = lua.Tenant{Lock: t.Key, Owner: t.Owner, Heir: t.Heir}
	}
	renewals, err := lua.Renew(ctx, p, tenants, lease)
	if err == nil && len(renewals) < len(targets) {
		err = errors.New("no answer for some locks")
	}
	results := make([]watchdog.Result, len(targets))
	for i := range results {
		switch {
		case i < len(renewals) && renewals[i] == lua.Renewed:
			results[i].Outcome = watchdog.Renewed
		case i < len(renewals) && renewals[i] == lua.NotOwner:
			results[i].Outcome = watchdog.NotOwner
		default:
			results[i] = watchdog.Result{Outcome: watchdog.Failed, Err: err}
		}
	}
	return results
}

// slotOf is the cluster slot of a key: CRC16 (XMODEM) of its hash tag modulo
// 16384, as the cluster specification has it
// (https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/).
func slotOf(key string) uint16 {
	if _, after, ok := strings.Cut(key, "{"); ok {
		if tag, _, ok := strings.Cut(after, "}"); ok && tag != "" {
			key = tag
		}
	}
	var crc uint16
	for i := range len(key) {
		crc ^= uint16(key[i]) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
	}
	return crc % 16384
}
