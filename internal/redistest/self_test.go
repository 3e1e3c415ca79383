package redistest_test

import (
	"os"
	"os/exec"
	"testing"
)

// runSelf runs one test of this binary in a child process and returns what it
// printed. How the child ends is the caller's to know.
func runSelf(t *testing.T, test string, env ...string) string {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.v", "-test.run=^"+test+"$")
	cmd.Env = append(os.Environ(), env...)
	out, _ := cmd.CombinedOutput()
	return string(out)
}
