package pictures

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
)

var write = flag.Bool("write", false, "write the pictures into docs/")

func TestPictures(t *testing.T) {
	for name, draw := range map[string]func(t *testing.T) []byte{"lease": lease, "handoff": handOff, "quorum": quorum} {
		t.Run(name, func(t *testing.T) {
			var drawn []byte
			synctest.Test(t, func(t *testing.T) { drawn = draw(t) })
			file := filepath.Join("../../docs", name+".svg")
			if *write {
				must(t, os.WriteFile(file, drawn, 0o666))
			}
			have, err := os.ReadFile(file)
			must(t, err)
			if !bytes.Equal(have, drawn) {
				t.Errorf("%s is not what happens now: make pictures", file)
			}
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
