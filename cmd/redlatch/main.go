// Command redlatch runs commands under locks in Redis, and shows who holds them. docs/cli.md tells how it is used.
package main

import (
	"os"

	"github.com/redlatch/redlatch/cmd/redlatch/internal/cli"
)

func main() { os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }
