package cli_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// TestPage runs every line of docs/cli.md, as the shell, cron, systemd or Kubernetes would, and those of the README that have the
// command.
func TestPage(t *testing.T) {
	text, err := os.ReadFile("../../../../docs/cli.md")
	must(t, err)
	readme, err := os.ReadFile("../../../../README.md")
	must(t, err)
	for _, block := range regexp.MustCompile("(?ms)^```sh\n(.*?)^```$").FindAllStringSubmatch(string(readme), -1) {
		lines := regexp.MustCompile("(?m)^redlatch .*$").FindAllString(block[1], -1)
		text = fmt.Appendf(text, "```sh\n%s\n```\n", strings.Join(lines, "\n"))
	}
	tried := make(map[string]int)
	for _, block := range regexp.MustCompile("(?ms)^```(\\w+)\n(.*?)^```$").FindAllStringSubmatch(string(text), -1) {
		language, body := block[1], block[2]
		tried[language]++
		for _, script := range scripts(t, language, body) {
			t.Run(language, func(t *testing.T) {
				start(t).shell(script)
			})
		}
	}
	for _, language := range []string{"sh", "crontab", "ini", "yaml"} {
		if tried[language] == 0 {
			t.Errorf("no block of %s", language)
		}
	}
}

// scripts are what a shell can run of a block.
func scripts(t *testing.T, language, body string) (all []string) {
	t.Helper()
	switch language {
	case "sh":
		return []string{body}
	case "crontab":
		for line := range strings.Lines(body) {
			fields := regexp.MustCompile(`^(\S+\s+){5}`).FindString(line)
			if fields == "" {
				t.Fatalf("no line of cron: %s", line)
			}
			all = append(all, strings.TrimPrefix(line, fields))
		}
	case "ini":
		for line := range strings.Lines(body) {
			if command, is := strings.CutPrefix(line, "ExecStart="); is {
				all = append(all, command)
			}
		}
	case "yaml":
		var manifest any
		must(t, yaml.Unmarshal([]byte(body), &manifest))
		for _, line := range commands(manifest) {
			quoted, err := json.Marshal(line)
			must(t, err)
			all = append(all, strings.NewReplacer(`["`, "'", `","`, "' '", `"]`, "'").Replace(string(quoted)))
		}
	}
	if len(all) == 0 {
		t.Errorf("a block of %s has nothing to run", language)
	}
	return all
}

// commands are the commands of all containers in a manifest.
func commands(node any) (all [][]string) {
	switch v := node.(type) {
	case []any:
		for _, child := range v {
			all = append(all, commands(child)...)
		}
	case map[string]any:
		for key, child := range v {
			if words, is := child.([]any); is && key == "command" {
				var line []string
				for _, word := range words {
					line = append(line, word.(string))
				}
				all = append(all, line)
				continue
			}
			all = append(all, commands(child)...)
		}
	}
	return all
}

// shell runs a script, of which each command has to succeed.
func (r *rig) shell(script string) {
	r.t.Helper()
	cmd := exec.Command("sh", "-euc", script)
	cmd.Dir = r.t.TempDir()
	for _, name := range []string{"report.sh", "job.sh"} { // what the README has a user run
		must(r.t, os.WriteFile(filepath.Join(cmd.Dir, name), []byte("#!/bin/sh\n"), 0o755))
	}
	cmd.Env = append(os.Environ(), "REDIS_URL=redis://"+r.Addr(), "REDLATCH_HELD=", "PATH="+filepath.Dir(binary)+":"+os.Getenv("PATH"))
	if out, err := cmd.CombinedOutput(); err != nil {
		r.t.Errorf("%v\n%s\n%s", err, script, out)
	}
}
