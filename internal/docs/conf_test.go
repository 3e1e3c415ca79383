package docs

import (
	"regexp"
	"strings"
	"testing"

	"github.com/redlatch/redlatch/internal/redistest"
)

// TestServerSettings starts a server with the settings of SECURITY.md.
func TestServerSettings(t *testing.T) {
	redistest.Needs(t, "6.0", "TLS")
	t.Parallel()
	blocks := regexp.MustCompile("(?ms)^```conf\n(.*?)^```$").FindAllStringSubmatch(read(t, "SECURITY.md"), -1)
	if len(blocks) != 1 {
		t.Fatalf("SECURITY.md has %d blocks of settings", len(blocks))
	}
	lines := strings.Split(strings.TrimSpace(blocks[0][1]), "\n")
	server := redistest.Start(t, redistest.WithConfig(lines...))
	for _, line := range lines {
		name, value, _ := strings.Cut(line, " ")
		has := server.Do(t, "CONFIG", "GET", name).([]any)
		if len(has) != 2 || has[1] != strings.Trim(value, `"`) {
			t.Errorf("%s: the server has %v", line, has)
		}
	}
}
