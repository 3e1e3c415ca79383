package main

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/redlatch/redlatch/internal/redistest"
)

const version = "v0.9.0"

// consumer is a module outside the repository.
type consumer struct {
	dir string
	env []string
}

// consumers makes consumers of one published version. They share a module cache, which is not the user's: there no version
// of ours is to be left.
func consumers(t *testing.T) func(t *testing.T) consumer {
	t.Helper()
	proxy, cache := publish(t, version), t.TempDir()
	own := strings.Split(output(t, "", nil, "go", "env", "GOMODCACHE", "GOPROXY", "GONOSUMDB", "GOFLAGS"), "\n")
	env := append(os.Environ(),
		"GOMODCACHE="+cache,
		"GOPROXY=file://"+proxy+",file://"+own[0]+"/cache/download,"+own[1],
		"GONOSUMDB="+strings.TrimPrefix(own[2]+","+mainPath, ","),
		"GOFLAGS="+strings.TrimSpace(own[3]+" -modcacherw"),
		"GOWORK=off", "GOBIN="+cache,
	)
	return func(t *testing.T) consumer {
		c := consumer{dir: t.TempDir(), env: env}
		write(t, filepath.Join(c.dir, "go.mod"), []byte("module example.com/consumer\n\ngo 1.26\n"))
		return c
	}
}

func (c consumer) run(t *testing.T, name string, args ...string) string {
	t.Helper()
	return output(t, c.dir, c.env, name, args...)
}

// has gives the consumer files of the repository, or of testdata.
func (c consumer) has(t *testing.T, pattern string) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatal(pattern, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(c.dir, strings.TrimSuffix(filepath.Base(file), ".txt")), text)
	}
}

func output(t *testing.T, dir string, env []string, name string, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	run := exec.CommandContext(t.Context(), name, args...)
	run.Dir, run.Env, run.Stdout, run.Stderr = dir, env, &out, &errs
	if err := run.Run(); err != nil {
		t.Fatalf("%s %s: %v\n%s%s", name, strings.Join(args, " "), err, &out, &errs)
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// TestConsumers uses each published module as people do: by its version, from another module, which replaces nothing. Its
// Examples are the program.
func TestConsumers(t *testing.T) {
	fresh := consumers(t)
	for _, dir := range []string{
		"reentrant", "multilock", "leader", "httpguard", "redlatchtest", "redlatchui", "redlatchotel",
		"adapters/certmagic", "adapters/cron", "adapters/gocron", "adapters/goose", "adapters/grpc",
	} {
		t.Run(strings.ReplaceAll(dir, "/", "-"), func(t *testing.T) {
			c := fresh(t)
			c.has(t, filepath.Join("../..", dir, "*example*_test.go"))
			c.run(t, "go", "get", mainPath+"/"+dir+"@"+version)
			c.run(t, "go", "mod", "tidy")
			c.run(t, "go", "test", "-count=1", "-run", "^(Test)?Example", ".")
			if mod, err := os.ReadFile(filepath.Join(c.dir, "go.mod")); err != nil || strings.Contains(string(mod), "replace") {
				t.Errorf("%s, %v", mod, err)
			}
		})
	}
	t.Run("program", func(t *testing.T) { program(t, fresh(t)) })
	t.Run("command", func(t *testing.T) { command(t, fresh(t)) })
}

// program runs a program with locks on a real server. A module that locks, and does nothing else, gets no other code than
// go-redis, uuid, goid, and what these need.
func program(t *testing.T, c consumer) {
	c.has(t, "testdata/job.go.txt")
	c.run(t, "go", "get", mainPath+"@"+version)
	c.run(t, "go", "mod", "tidy")
	if said := c.run(t, "go", "run", ".", redistest.Start(t).Addr()); said != "holds: 2" {
		t.Errorf("%q", said)
	}
	needed := []string{
		mainPath, "github.com/redis/go-redis/v9", "github.com/google/uuid", "github.com/petermattis/goid",
		"github.com/cespare/xxhash/v2", "go.uber.org/atomic", "golang.org/x/sys",
	}
	linked := strings.Fields(c.run(t, "go", "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}}{{end}}{{end}}", "."))
	slices.Sort(linked)
	for _, path := range slices.Compact(linked) {
		if !slices.Contains(needed, path) {
			t.Errorf("a program with a lock links %s", path)
		}
	}
	t.Logf("go.sum has the code of %v", code(t, filepath.Join(c.dir, "go.sum")))
}

// code are the modules of which a go.sum has more than the go.mod.
func code(t *testing.T, file string) (paths []string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		if words := strings.Fields(lines.Text()); len(words) == 3 && !strings.HasSuffix(words[1], "/go.mod") {
			paths = append(paths, words[0])
		}
	}
	return paths
}

// command installs the command, and runs another one under a lock.
func command(t *testing.T, c consumer) {
	c.run(t, "go", "install", mainPath+"/cmd/redlatch@"+version)
	i := slices.IndexFunc(c.env, func(v string) bool { return strings.HasPrefix(v, "GOBIN=") })
	redlatch := filepath.Join(strings.TrimPrefix(c.env[i], "GOBIN="), "redlatch")
	c.env = append(c.env, "REDIS_URL=redis://"+redistest.Start(t).Addr())
	if said := c.run(t, redlatch, "run", "nightly", "--", "echo", "ran"); said != "ran" {
		t.Errorf("%q", said)
	}
	if said := c.run(t, redlatch, "--version"); !strings.Contains(said, version) {
		t.Errorf("the command says that it is %q", said)
	}
}
