package cli

import (
	"context"
	"os"
	"strings"
)

// heldEnv tells a child what its parents hold: a line for each lock on each server, the holder's field and the name.
const heldEnv = "REDLATCH_HELD"

// heldByParent reports whether a parent of this process holds the lock, by the word of its environment and of Redis: more
// than half of the servers say that the holder is the parent's. Otherwise a run inside a run of the same name would
// wait for its own parent for ever.
func heldByParent(ctx context.Context, on []*redlatch, name string) bool {
	said := make(map[string]bool)
	for line := range strings.Lines(os.Getenv(heldEnv)) {
		said[strings.TrimRight(line, "\n")] = true
	}
	if len(said) == 0 {
		return false
	}
	agree := 0
	for _, r := range on {
		if info, err := r.Inspect(ctx, name); err == nil && said[info.Holder.Field+" "+name] {
			agree++
		}
	}
	return agree > len(on)/2
}

// heldWith is heldEnv for a child, with one lock more.
func heldWith(on []*redlatch, owner, name string) string {
	lines := os.Getenv(heldEnv)
	for _, r := range on {
		if lines != "" && !strings.HasSuffix(lines, "\n") {
			lines += "\n"
		}
		lines += fieldOf(r, owner) + " " + name + "\n"
	}
	return lines
}

// fieldOf is the field of an owner with that name.
func fieldOf(r *redlatch, owner string) string { return r.ID() + ":" + owner }
