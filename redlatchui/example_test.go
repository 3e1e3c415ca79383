package redlatchui_test

import (
	"errors"
	"net/http"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/redlatchui"
	"github.com/redlatch/redlatch/reentrant"
)

// The page in a program's own server, for its operators.
func Example() {
	rdb := redis.NewClient(&redis.Options{Addr: "localhost:6379"})
	client, err := reentrant.New(rdb, reentrant.WithClientName("billing"))
	if err != nil {
		panic(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/ops/locks/", redlatchui.NewHandler(client, redlatchui.Options{
		PathPrefix: "/ops/locks",
		Write:      true,
		Authorize: func(r *http.Request) error {
			if r.Header.Get("X-Operator") == "" { // as the login in front of it sets it
				return errors.New("no operator")
			}
			return nil
		},
	}))
	// http.ListenAndServe("localhost:8080", mux)
}
