package cli_test

import (
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
)

func TestUI(t *testing.T) {
	r := start(t)
	must(t, r.client.NewLock("order:1").Lock(t.Context()))
	c := r.command("ui", "--listen", "127.0.0.1:0")
	c.Env = append(c.Env, "REDLATCH_UI_PASSWORD=secret")
	c.begin().prints("\n")
	url := strings.TrimSpace(c.out.String())
	get := func(path, password string) (int, string) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+path, nil)
		must(t, err)
		request.SetBasicAuth("anybody", password)
		answer, err := http.DefaultClient.Do(request)
		must(t, err)
		defer answer.Body.Close()
		buffer := make([]byte, 200)
		n, err := io.ReadAtLeast(answer.Body, buffer, 20)
		must(t, err)
		return answer.StatusCode, string(buffer[:n])
	}
	if code, text := get("", "secret"); code != 200 || !strings.Contains(text, "<!doctype html>") {
		t.Errorf("%d, %s", code, text)
	}
	if code, _ := get("", "wrong"); code != 401 {
		t.Errorf("a wrong password: %d", code)
	}
	if code, text := get("events", "secret"); code != 200 || !strings.HasPrefix(text, "data: ") {
		t.Errorf("%d, %s", code, text)
	}
	must(t, c.Process.Signal(syscall.SIGTERM))
	if code := c.code(); code != 0 {
		t.Errorf("%d, %s", code, c.err.String())
	}
	r.want(64, "", "set REDLATCH_UI_PASSWORD", "ui", "--write", "--listen", "0.0.0.0:0")
	r.want(64, "", "--listen", "ui", "--listen", "nonsense")
	r.want(69, "", "Give another address", "ui", "--listen", "127.0.0.1:0", "--url", "redis://127.0.0.1:1")
}
