package reentrant_test

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/redlatch/redlatch/reentrant"
)

// Who holds the lock, and why does nothing go on? String makes one line of it, such as
// "import: held by billing@web-3:411 (owner "job-7"), for 29.9s more; waiting: reports@web-1:88 since 2.3s".
func ExampleClient_Inspect() {
	rdb, stop := exampleRedis()
	defer stop()
	ctx := context.Background()
	billing, err := reentrant.New(rdb, reentrant.WithClientName("billing"))
	if err != nil {
		log.Fatal(err)
	}
	defer billing.Close(ctx)
	err = billing.NewLock("import").Lock(reentrant.WithOwner(ctx, "job-7"))
	if err != nil {
		log.Fatal(err)
	}
	defer billing.NewLock("import").Unlock(reentrant.WithOwner(ctx, "job-7"))

	info, err := billing.Inspect(ctx, "import")
	if err != nil {
		log.Fatal(err)
	}
	name, _, _ := strings.Cut(info.Holder.Name, "@") // and then host and process id
	fmt.Println(info.Held, name, info.Holder.Owner, info.Holder.From, info.Count, len(info.Waiters))

	info, err = billing.Inspect(ctx, "export")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(info)
	// Output:
	// true billing job-7 Go 1 0
	// export: free
}
