package pubsub_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/pubsub"
)

// A hundred thousand channels are each listened to for a moment, as by calls that wait for
// locks that nobody will ask for again. Half of them leave before they are confirmed. One
// connection serves them, commands carry many channels each, and nothing is left.
func TestFault51HundredThousandNames(t *testing.T) {
	const names, goroutines = 100_000, 64
	addr, admin := startRedis(t)
	client := redis.NewClient(&redis.Options{Addr: addr})
	defer client.Close()
	hub := pubsub.NewHub(client, pubsub.Config{Linger: 50 * time.Millisecond})
	defer closeHub(t, hub)
	seed := uint64(time.Now().UnixNano())
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(seed, uint64(g)))
			for n := g; n < names; n += goroutines {
				confirmed := make(chan struct{}, 1)
				sub := hub.Listen(fmt.Sprint("name:", n), func(pubsub.Event) {
					select {
					case confirmed <- struct{}{}:
					default:
					}
				})
				if random.IntN(2) == 0 {
					select {
					case <-confirmed:
					case <-time.After(60 * time.Second):
						t.Errorf("seed %d: name %d was not confirmed", seed, n)
					}
				}
				sub.Close()
			}
		})
	}
	wg.Wait()
	eventually(t, "everything is unsubscribed and closed", func() bool {
		return channels(t, admin) == 0 && pubsubClients(t, admin) == 0 && hub.Channels() == 0
	})
	subscribes, unsubscribes := calls(t, admin, "subscribe"), calls(t, admin, "unsubscribe")
	t.Logf("seed %d: %d SUBSCRIBEs, %d UNSUBSCRIBEs", seed, subscribes, unsubscribes)
	if subscribes == 0 || subscribes > names/4 || unsubscribes > names/4 {
		t.Errorf("seed %d: %d SUBSCRIBEs and %d UNSUBSCRIBEs for %d names", seed, subscribes, unsubscribes, names)
	}
}

// calls is how often the server was sent a command.
func calls(t *testing.T, admin *redis.Client, command string) int {
	t.Helper()
	_, rest, _ := strings.Cut(admin.Info(t.Context(), "commandstats").Val(), "cmdstat_"+command+":calls=")
	n, _ := strconv.Atoi(rest[:max(0, strings.IndexByte(rest, ','))]) // never called: 0
	return n
}
