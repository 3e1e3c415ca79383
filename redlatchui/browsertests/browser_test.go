package browsertests

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/redis/go-redis/v9/logging"

	"github.com/redlatch/redlatch/redlatchui"
	"github.com/redlatch/redlatch/reentrant"
)

// soon is how long a test waits for what the page is to show.
const soon = 20 * time.Second

var browser context.Context // of all tests: each opens a tab

func TestMain(m *testing.M) {
	flag.Parse()
	slog.SetDefault(slog.New(slog.DiscardHandler)) // locks are lost here
	logging.Disable()
	os.Exit(run(m))
}

func run(m *testing.M) int {
	path := chromium()
	if path == "" {
		fmt.Fprintln(os.Stderr, "no Chromium or Chrome in PATH: make browser installs one")
		return 1
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.WindowSize(1280, 800))
	all, end := chromedp.NewExecAllocator(context.Background(), options...)
	defer end()
	first, closeAll := chromedp.NewContext(all)
	defer closeAll()
	if err := chromedp.Do(first); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	browser = first
	return m.Run()
}

// chromium is the browser in PATH, or empty.
func chromium() string {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// tab is one tab of the browser. It fails its test if the page asked another host, or reported an error.
type tab struct {
	t   *testing.T
	ctx context.Context

	mu       sync.Mutex
	trouble  []string // guarded by mu
	expected bool     // the trouble is; guarded by mu
}

// newTab opens a page in a tab, after what is done before that.
func newTab(t *testing.T, url string, before ...step) *tab {
	t.Helper()
	ctx, end := chromedp.NewContext(browser)
	t.Cleanup(end)
	b := &tab{t: t, ctx: ctx}
	must(t, chromedp.Do(ctx)) // without a limit: the tab lives as long as the ctx of the first call
	must(t, chromedp.Listen(ctx, b.hears(strings.SplitN(url, "/", 4)[2])))
	b.do(append(before, chromedp.Navigate(url))...)
	t.Cleanup(func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if len(b.trouble) > 0 && !b.expected {
			t.Errorf("the page: %q", b.trouble)
		}
	})
	return b
}

// hears notes what a page of that host must not do.
func (b *tab) hears(host string) func(any) {
	return func(event any) {
		switch e := event.(type) {
		case *network.EventRequestWillBeSent:
			if !strings.HasPrefix(e.Request.URL, "data:") && !strings.HasPrefix(e.Request.URL, "http://"+host+"/") {
				b.note("asked " + e.Request.URL)
			}
		case *runtime.EventExceptionThrown:
			b.note(e.ExceptionDetails.Text)
		case *runtime.EventConsoleAPICalled:
			if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeWarning {
				b.note(fmt.Sprint(e.Args))
			}
		}
	}
}

func (b *tab) note(what string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.trouble = append(b.trouble, what)
}

// step is an action without a result.
type step = chromedp.Action[chromedp.Void]

func (b *tab) do(steps ...step) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, soon)
	defer cancel()
	must(b.t, chromedp.Do(ctx, steps...))
}

// is waits until an expression in the page is true.
func (b *tab) is(expression string, args ...any) {
	b.t.Helper()
	expression = fmt.Sprintf(expression, args...)
	ctx, cancel := context.WithTimeout(b.ctx, soon)
	defer cancel()
	if _, err := chromedp.Run(ctx, chromedp.Poll[bool]("!!("+expression+")", chromedp.WithPollingInterval(20*time.Millisecond))); err != nil {
		text, _ := chromedp.Run(b.ctx, chromedp.Evaluate[string]("document.body.innerText"))
		b.t.Fatalf("not so: %s: %v\n%s", expression, err, text)
	}
}

// run runs a script in the page.
func (b *tab) run(script string, args ...any) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, soon)
	defer cancel()
	_, err := chromedp.Run(ctx, chromedp.Evaluate[any]("("+fmt.Sprintf(script, args...)+", 0)"))
	must(b.t, err)
}

// evaluate is the value of an expression in the page.
func (b *tab) evaluate(expression string) any {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, soon)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[any](expression))
	must(b.t, err)
	return v
}

// row is the line of a lock, as an expression.
func row(lock string) string { return fmt.Sprintf("document.querySelector('tr[data-name=%q]')", lock) }

// rowSays waits until the line of a lock has the texts.
func (b *tab) rowSays(lock string, texts ...string) {
	b.t.Helper()
	for _, text := range texts {
		b.is("%s?.innerText.includes(%q)", row(lock), text)
	}
}

// serve serves the page of a Client below /locks.
func serve(t *testing.T, c *reentrant.Client, o redlatchui.Options) (url string) {
	t.Helper()
	o.PathPrefix = "/locks"
	mux := http.NewServeMux()
	mux.Handle("/locks/", redlatchui.NewHandler(c, o))
	server := httptest.NewServer(mux)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server.URL + "/locks/"
}
