// Command worker locks through Redlatch as the tests of mixedtests tell it, on standard input. They build it with
// two versions of Redlatch.
package main

import (
	"fmt"
	"os"

	"github.com/redlatch/redlatch/internal/mixedtests"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: worker ID REDIS")
		os.Exit(2)
	}
	if err := mixedtests.Work(os.Args[1], os.Args[2], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "worker:", err)
		os.Exit(1)
	}
}
