package redlatchui_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/redlatchui"
	"github.com/redlatch/redlatch/reentrant"
)

const within = 20 * time.Second

// rig is a page over a server.
type rig struct {
	*httptest.Server
	t      *testing.T
	redis  *redistest.Server
	client *reentrant.Client
	root   string
}

func start(t *testing.T, options redlatchui.Options) *rig {
	t.Helper()
	t.Parallel()
	s := redistest.Start(t)
	c, err := reentrant.New(s.Client(t), reentrant.WithClientName("billing"))
	must(t, err)
	options.Logger = slog.New(slog.DiscardHandler)
	r := &rig{t: t, redis: s, client: c, root: "/"}
	if options.PathPrefix != "" {
		r.root = options.PathPrefix + "/"
	}
	r.Server = httptest.NewServer(redlatchui.NewHandler(c, options))
	t.Cleanup(r.Close)
	return r
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// do sends a request, and returns the code and the text.
func (r *rig) do(method, path, body string, headers ...string) (int, string) {
	r.t.Helper()
	request, err := http.NewRequestWithContext(r.t.Context(), method, r.URL+r.root+path, strings.NewReader(body))
	must(r.t, err)
	for i := 0; i+1 < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	answer, err := http.DefaultClient.Do(request)
	must(r.t, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	must(r.t, err)
	return answer.StatusCode, string(text)
}

// word is what a page is told.
type word struct {
	Error string
	Rows  []struct {
		Name, Kind, State, Holder, Field, From string
		Waiters                                []struct{ Who string }
	}
	Clients []struct{ Name string }
}

// open opens a page, which gets words until the test ends or leave is called.
func (r *rig) open() (next func() word, leave func()) {
	r.t.Helper()
	ctx, leave := context.WithCancel(r.t.Context())
	r.t.Cleanup(leave)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, r.URL+r.root+"events", nil)
	must(r.t, err)
	answer, err := http.DefaultClient.Do(request)
	must(r.t, err)
	r.t.Cleanup(func() { answer.Body.Close() })
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, 1<<20)
	return func() (w word) {
		r.t.Helper()
		for lines.Scan() {
			if data, is := strings.CutPrefix(lines.Text(), "data: "); is {
				must(r.t, json.Unmarshal([]byte(data), &w))
				return w
			}
		}
		r.t.Fatalf("no more words: %v", lines.Err())
		return w
	}, leave
}

// until waits for a word.
func (r *rig) until(next func() word, what string, is func(w word) bool) (w word) {
	r.t.Helper()
	for end := time.Now().Add(within); time.Now().Before(end); {
		if w = next(); is(w) {
			return w
		}
	}
	r.t.Fatalf("not within %v: %s; the last word is %+v", within, what, w)
	return w
}

// A page shows who holds what, and who waits, as it changes.
func TestPage(t *testing.T) {
	r := start(t, redlatchui.Options{PathPrefix: "/ops/locks"})
	ctx := t.Context()
	must(t, r.client.NewLock("order:42").Lock(ctx))
	next, leave := r.open()
	r.until(next, "the first word", func(w word) bool { return w.Error == "" })
	other, err := reentrant.New(r.redis.Client(t), reentrant.WithClientName("reports"))
	must(t, err)
	waits, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- other.NewLock("order:42").Lock(waits) }()
	w := r.until(next, "somebody waits", func(w word) bool { return len(w.Rows) == 1 && len(w.Rows[0].Waiters) == 1 })
	if row := w.Rows[0]; row.Name != "order:42" || row.From != "Go" || !strings.HasPrefix(row.Holder, "billing@") || !strings.HasPrefix(row.Waiters[0].Who, "reports@") {
		t.Errorf("%+v", row)
	}
	if len(w.Clients) == 0 {
		t.Errorf("no client: %+v", w)
	}
	code, text := r.do("GET", "lock?name=order:42", "")
	if code != 200 || !strings.Contains(text, `"state":"held"`) || !strings.Contains(text, `"changes":[{`) {
		t.Errorf("%d, %s", code, text)
	}
	stop()
	<-ended
	leave()
	if code, text := r.do("GET", "", ""); code != 200 || !strings.Contains(text, `src="/ops/locks/assets/app.js"`) {
		t.Errorf("%d, %s", code, text)
	}
	for _, path := range []string{"assets/app.js", "assets/style.css"} {
		if code, text := r.do("GET", path, ""); code != 200 || text == "" {
			t.Errorf("%s: %d", path, code)
		}
	}
}

// Locks that nobody waits for are shown once they are searched for, Java's too.
func TestSearch(t *testing.T) {
	r := start(t, redlatchui.Options{})
	must(t, r.redis.Admin().HSet(t.Context(), "java", "6f1c7e0c-5d1f-4d4e-9a55-0123456789ab:17", "1").Err())
	next, _ := r.open()
	r.until(next, "nothing is shown", func(w word) bool { return len(w.Rows) == 0 && w.Error == "" })
	if code, text := r.do("POST", "search", `{"pattern":"ja"}`); code != 200 || !strings.Contains(text, `"found":1`) {
		t.Fatalf("%d, %s", code, text)
	}
	w := r.until(next, "it is shown", func(w word) bool { return len(w.Rows) == 1 })
	if w.Rows[0].Name != "java" || w.Rows[0].From != "Java" {
		t.Errorf("%+v", w.Rows)
	}
}

// A lock is freed from the holder that was shown, if its name was typed.
func TestForce(t *testing.T) {
	r := start(t, redlatchui.Options{Write: true})
	ctx := t.Context()
	must(t, r.client.NewLock("order:42").Lock(ctx))
	info, err := r.client.Inspect(ctx, "order:42")
	must(t, err)
	body := func(typed, field string) string {
		text, err := json.Marshal(map[string]string{"name": "order:42", "typed": typed, "field": field})
		must(t, err)
		return string(text)
	}
	for _, c := range []struct {
		typed, field, want string
		code               int
		headers            []string
	}{
		{"order:4", info.Holder.Field, "type the name", 400, nil},
		{"order:42", "", "type the name", 400, nil},
		{"order:42", info.Holder.Field, "another site", 403, []string{"Sec-Fetch-Site", "cross-site"}},
		{"order:42", info.Holder.Field, "another site", 403, []string{"Origin", "https://evil.example"}},
		{"order:42", info.Holder.Field + "0", `"freed":false`, 200, nil},
		{"order:42", info.Holder.Field, `"freed":true`, 200, []string{"Sec-Fetch-Site", "same-origin"}},
		{"order:42", info.Holder.Field, `"freed":false`, 200, nil},
	} {
		if code, text := r.do("POST", "force", body(c.typed, c.field), c.headers...); code != c.code || !strings.Contains(text, c.want) {
			t.Errorf("%q, %q, %v: %d, %s", c.typed, c.field, c.headers, code, text)
		}
	}
	if err := r.client.NewLock("order:42").Unlock(ctx); !errors.Is(err, reentrant.ErrLost) {
		t.Errorf("the holder: %v", err)
	}
}

// Without Write nothing is freed, and without authorization nothing is shown.
func TestRefused(t *testing.T) {
	refuse := false
	r := start(t, redlatchui.Options{Authorize: func(*http.Request) error {
		if refuse {
			return errors.New("a secret reason")
		}
		return nil
	}})
	if code, text := r.do("POST", "force", `{"name":"a","typed":"a","field":"x"}`); code != 403 || !strings.Contains(text, "look only") {
		t.Errorf("%d, %s", code, text)
	}
	for _, c := range []struct {
		method, path, body string
		code               int
	}{{"POST", "search", "no json", 400}, {"GET", "lock?name=a%7Bb", "", 400}, {"GET", "nothing", "", 404}, {"GET", "force", "", 405}} {
		if code, text := r.do(c.method, c.path, c.body); code != c.code {
			t.Errorf("%s: %d, %s", c.path, code, text)
		}
	}
	refuse = true
	for _, path := range []string{"", "assets/app.js", "events", "lock?name=a"} {
		if code, text := r.do("GET", path, ""); code != 403 || strings.Contains(text, "secret") {
			t.Errorf("%s: %d, %s", path, code, text)
		}
	}
}

// Redis is away: the page says so, and goes on when it is back.
func TestRedisAway(t *testing.T) {
	r := start(t, redlatchui.Options{})
	next, _ := r.open()
	r.until(next, "the first word", func(w word) bool { return w.Error == "" })
	r.redis.Kill()
	r.until(next, "it says so", func(w word) bool { return w.Error != "" })
	r.redis.Restart()
	r.until(next, "it is back", func(w word) bool { return w.Error == "" })
}
