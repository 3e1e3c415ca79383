package browsertests

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/redlatchui"
	"github.com/redlatch/redlatch/reentrant"
)

// A form of another site needs no script and no right to read the answer. Its text can be JSON; it frees nothing.
func TestFormOfAnotherSite(t *testing.T) {
	s := redistest.Start(t)
	c := newClient(t, s, reentrant.WithClientName("billing"))
	must(t, c.NewLock("mine").Lock(owner(t, "me")))
	field := fmt.Sprint(s.Do(t, "HKEYS", "mine").([]any)[0])
	url := serve(t, c, redlatchui.Options{Write: true})
	evil := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `<!doctype html><form action="%sforce" method="post" enctype="text/plain"><input name='{"name":"mine","typed":"mine","field":"%s","x":"' value='"}'><button>A prize</button></form>`, url, field)
	}))
	t.Cleanup(evil.Close)
	page := newTab(t, evil.URL+"/")
	page.expected = true // it asks another host
	must(t, answered(page, chromedp.Click("button")))
	page.is("document.body.innerText.includes('a request from another site')")
	if n := s.Do(t, "HEXISTS", "mine", field); n != int64(1) {
		t.Error("another site has freed the lock")
	}
}

// answered does a step, and returns when the page that it leads to has come.
func answered(b *tab, by step) error {
	ctx, cancel := context.WithTimeout(b.ctx, soon)
	defer cancel()
	_, err := chromedp.RunResponse(ctx, by)
	return err
}
