package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

// publish makes a version of the work tree, and a module proxy of it in a directory. The work tree is not changed.
func publish(t *testing.T, version string) (proxy string) {
	t.Helper()
	tree, proxy := copied(t), t.TempDir()
	modules, err := published(tree, version)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range modules {
		if err := os.WriteFile(filepath.Join(tree, m.dir, "go.mod"), m.mod, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, m := range modules {
		serve(t, filepath.Join(proxy, m.path(), "@v"), m, version, filepath.Join(tree, m.dir))
	}
	return proxy
}

// copied is a copy of the files of the work tree that git knows or would add.
func copied(t *testing.T) (tree string) {
	t.Helper()
	const root = "../.."
	tree = t.TempDir()
	list := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	list.Dir = root
	files, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	for file := range strings.SplitSeq(strings.TrimSuffix(string(files), "\x00"), "\x00") {
		text, err := os.ReadFile(filepath.Join(root, file))
		if os.IsNotExist(err) {
			continue // removed, and not committed yet
		}
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(tree, file), text)
	}
	return tree
}

// serve writes what a proxy answers about a version of a module: `go help goproxy`.
func serve(t *testing.T, dir string, m unit, version, from string) {
	t.Helper()
	info, err := json.Marshal(map[string]any{"Version": version, "Time": time.Now().UTC()})
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "list"), []byte(version+"\n"))
	write(t, filepath.Join(dir, version+".info"), info)
	write(t, filepath.Join(dir, version+".mod"), m.mod)
	archive, err := os.Create(filepath.Join(dir, version+".zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	if err := zip.CreateFromDir(archive, module.Version{Path: m.path(), Version: version}, from); err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, file string, text []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, text, 0o666); err != nil {
		t.Fatal(err)
	}
}
