package reentrant_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/reentrant"
)

// A program looks at its permissions before it begins to work. Here somebody has forgotten
// one, with which locks would be granted and not be renewed, and one that wakes who waits.
func ExampleClient_Check() {
	redisServer := miniredis.NewMiniRedis()
	if err := redisServer.Start(); err != nil {
		log.Fatal(err)
	}
	defer redisServer.Close()
	redisServer.Server().SetPreHook(func(p *server.Peer, cmd string, _ ...string) bool {
		if cmd == "PTTL" || cmd == "PUBLISH" {
			p.WriteError("NOPERM User app has no permissions to run the '" + map[string]string{"PTTL": "pttl", "PUBLISH": "publish"}[cmd] + "' command")
			return true
		}
		return false
	})
	rdb := redis.NewClient(&redis.Options{Addr: redisServer.Addr()})
	defer rdb.Close()
	ctx := context.Background()
	client, err := reentrant.New(rdb, reentrant.WithPrefix("lock:"))
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close(ctx)

	warnings, err := client.Check(ctx)
	for _, warning := range warnings {
		var missing *reentrant.PermissionError
		if errors.As(warning, &missing) {
			fmt.Println("warning:", missing.Rule, "-", missing.Without)
		}
	}
	var missing *reentrant.PermissionError
	if errors.As(err, &missing) {
		fmt.Println("error:", missing.Rule, "-", missing.Without)
	}
	// Output:
	// warning: +publish - who waits is not woken, but tries by itself, every second at first, later every 5 s
	// error: +pttl - no lock is renewed: it is lost in the middle of the work
}
