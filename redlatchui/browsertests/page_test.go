package browsertests

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/redlatchui"
	"github.com/redlatch/redlatch/reentrant"
)

// Locks come, change and go on the page without a reload: who holds them, what they are, who waits.
func TestPageIsLive(t *testing.T) {
	s := redistest.Start(t)
	billing, reports := newClient(t, s, reentrant.WithClientName("billing")), newClient(t, s, reentrant.WithClientName("reports"))
	page := newTab(t, serve(t, newClient(t, s), redlatchui.Options{}))
	page.is("!document.querySelector('#none').hidden")

	order, queue, prices := billing.NewLock("order:42", reentrant.WithFencing()), billing.NewFairLock("counter"), billing.NewReadWriteLock("prices")
	must(t, order.Lock(owner(t, "job-7")))
	must(t, order.Lock(owner(t, "job-7")))
	must(t, queue.Lock(owner(t, "first")))
	must(t, prices.RLock(owner(t, "one")))
	javaHolds(t, s, "java-job")
	waits(t, s, reports.NewLock("order:42"), "late", registered(t, s, "order:42", 1))
	waits(t, s, reports.NewLock("java-job"), "go", registered(t, s, "java-job", 1))
	waits(t, s, reports.NewReadWriteLock("prices").Write(), "writer", registered(t, s, "prices", 1))
	for i, who := range []string{"second", "third"} {
		waits(t, s, reports.NewFairLock("counter"), who, inLine(t, s, "counter", int64(i+1)))
	}
	page.rowSays("order:42", "billing@", "Go", "job-7")
	page.is("%s.children[4].innerText === '2'", row("order:42")) // holds
	page.is("%s.children[6].innerText.length > 10", row("order:42"))
	page.is("%s.querySelector('.bar i').style.width > '0%%'", row("order:42"))
	page.rowSays("java-job", "Java", "6e5cd5a0")
	page.rowSays("counter", "fair")
	page.is("%s.querySelector('.queue').innerText === '2'", row("counter"))
	page.rowSays("prices", "read-write", "reading")
	page.is("document.querySelector('#none').hidden")

	must(t, order.Unlock(owner(t, "job-7")))
	must(t, order.Unlock(owner(t, "job-7")))
	page.rowSays("order:42", "reports@", "late")
	must(t, reports.NewLock("order:42").Unlock(owner(t, "late")))
	page.is("!%s", row("order:42"))
}

// A click on a lock opens its own page: the waiters in their order, the last changes, what to type in redis-cli. It has an
// address, and follows what happens.
func TestPageOfOneLock(t *testing.T) {
	s := redistest.Start(t)
	c, other := newClient(t, s, reentrant.WithClientName("billing")), newClient(t, s, reentrant.WithClientName("till"))
	must(t, c.NewFairLock("counter").Lock(owner(t, "first")))
	waits(t, s, other.NewFairLock("counter"), "second", inLine(t, s, "counter", 1))
	url := serve(t, newClient(t, s), redlatchui.Options{})
	page := newTab(t, url)
	page.rowSays("counter", "first")
	page.do(chromedp.Click(chromedp.CSS("tr[data-name=counter] .name")))
	page.is("document.querySelector('#one').open && location.hash === '#counter'")
	page.is("/second.* for [0-9.]+ s/.test(document.querySelector('#one ol').innerText)") // Redis has no key for that: the ticket says it
	page.is("document.querySelector('#one pre').innerText.includes('HGETALL \"counter\"')")
	waits(t, s, other.NewFairLock("counter"), "third", inLine(t, s, "counter", 2))
	page.is("document.querySelectorAll('#one li').length === 2 && document.querySelector('#one li:last-child').innerText.includes('third')")
	must(t, c.NewFairLock("counter").Unlock(owner(t, "first")))
	page.is("document.querySelector('#one dl').innerText.includes('second')")
	page.is("document.querySelectorAll('#one tbody tr').length >= 2")
	page.do(chromedp.KeyEvent(kb.Escape))
	page.is("!document.querySelector('#one').open && location.hash === ''")

	kept := newTab(t, url+"#counter")
	kept.is("document.querySelector('#one').open && document.querySelector('#one h2').innerText === 'counter'")
	page.run("location.hash = '%%'") // typed by hand
	page.run("location.hash = 'no lock'")
	page.is("document.querySelector('#one dl').innerText.includes('free')")
}

// A lock is freed if its name was typed, and only if it is still the holder's that the page has shown.
func TestFree(t *testing.T) {
	s := redistest.Start(t)
	c := newClient(t, s, reentrant.WithClientName("billing"))
	hold, err := c.NewLock("stuck").Acquire(owner(t, "stuck"))
	must(t, err)
	must(t, c.NewLock("other").Lock(owner(t, "before")))
	page := newTab(t, serve(t, newClient(t, s), redlatchui.Options{Write: true}))

	page.rowSays("stuck", "stuck")
	page.do(chromedp.Click(chromedp.CSS("tr[data-name=stuck] .free")), chromedp.WaitVisible(chromedp.CSS("#ask")))
	page.is("document.querySelector('#ask .danger').disabled")
	page.do(chromedp.SendKeys(chromedp.CSS("#ask input"), "stuc"))
	page.is("document.querySelector('#ask .danger').disabled")
	page.do(chromedp.SendKeys(chromedp.CSS("#ask input"), "k"))
	page.is("!document.querySelector('#ask .danger').disabled")
	page.do(chromedp.Click(chromedp.CSS("#ask .danger")))
	page.is("!document.querySelector('#ask').open && !%s", row("stuck"))
	if n := s.Do(t, "EXISTS", "stuck"); n != int64(0) {
		t.Error("the lock is still there")
	}
	if err := hold.Release(t.Context()); !errors.Is(err, reentrant.ErrLost) {
		t.Errorf("the holder is told %v", err)
	}

	page.rowSays("other", "before")
	page.do(chromedp.Click(chromedp.CSS("tr[data-name=other] .free")), chromedp.WaitVisible(chromedp.CSS("#ask")), chromedp.SendKeys(chromedp.CSS("#ask input"), "other"))
	must(t, c.NewLock("other").Unlock(owner(t, "before")))
	must(t, c.NewLock("other").Lock(owner(t, "after")))
	page.do(chromedp.Click(chromedp.CSS("#ask .danger")))
	page.is("document.querySelector('#ask output').innerText.includes('nothing was changed')")
	must(t, c.NewLock("other").Unlock(owner(t, "after")))
}

// A page that can look only has no button, and another site's page can do nothing.
func TestRefused(t *testing.T) {
	s := redistest.Start(t)
	c := newClient(t, s, reentrant.WithClientName("billing"))
	must(t, c.NewLock("mine").Lock(owner(t, "me")))
	readOnly := newTab(t, serve(t, c, redlatchui.Options{}))
	readOnly.rowSays("mine", "me")
	readOnly.is("%s.querySelector('.free').hidden", row("mine"))

	url := serve(t, c, redlatchui.Options{Write: true})
	field := fmt.Sprint(s.Do(t, "HKEYS", "mine").([]any)[0])
	evil := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<title>evil</title>") }))
	defer evil.Close()
	page := newTab(t, evil.URL+"/")
	page.expected = true // it asks another host
	page.run(`fetch(%q, {method: "POST", mode: "no-cors", body: JSON.stringify({name: "mine", typed: "mine", field: %q})}).then(() => { window.sent = true; })`, url+"force", field)
	page.is("window.sent")
	if n := s.Do(t, "HEXISTS", "mine", field); n != int64(1) {
		t.Error("another site has freed the lock")
	}

	denied := newTab(t, serve(t, c, redlatchui.Options{Authorize: func(*http.Request) error { return errors.New("who?") }}))
	denied.expected = true
	denied.is("document.body.innerText.includes('not authorized') && !document.body.innerText.includes('who?')")
}

// Names are text, whatever is in them.
func TestNamesAreText(t *testing.T) {
	s := redistest.Start(t)
	c := newClient(t, s, reentrant.WithClientName("billing"))
	name := `<img src=x onerror="window.evil=1">'"&amp;`
	must(t, c.NewLock(name).Lock(owner(t, "<b>me</b>")))
	page := newTab(t, serve(t, c, redlatchui.Options{Write: true}))
	page.is("[...document.querySelectorAll('.name')].some((e) => e.innerText === %q)", name)
	page.is("document.querySelector('#rows').innerText.includes('<b>me</b>')")
	page.do(chromedp.Click(chromedp.CSS("#rows .name")))
	page.is("document.querySelector('#one h2').innerText === %q", name)
	page.is("window.evil === undefined && !document.querySelector('img, b')")
}

// Redis is stopped: the page says so, keeps what there was, and goes on by itself.
func TestRedisIsAway(t *testing.T) {
	s := redistest.Start(t)
	c := newClient(t, s, reentrant.WithClientName("billing"))
	must(t, c.NewLock("kept").Lock(owner(t, "me")))
	page := newTab(t, serve(t, newClient(t, s), redlatchui.Options{}))
	page.rowSays("kept", "me")
	s.Stop()
	defer s.Continue()
	page.is("!document.querySelector('#trouble').hidden && document.querySelector('#trouble').innerText.startsWith('Redis')")
	page.rowSays("kept", "me")
	s.Continue()
	page.is("document.querySelector('#trouble').hidden")
}

// The keyboard does what the mouse does, and what it has chosen stays so while the page changes.
func TestKeyboard(t *testing.T) {
	s := redistest.Start(t)
	c := newClient(t, s, reentrant.WithClientName("billing"))
	must(t, c.NewLock("a").Lock(owner(t, "me")))
	page := newTab(t, serve(t, c, redlatchui.Options{Write: true}))
	page.rowSays("a", "me")
	page.do(chromedp.Focus(chromedp.CSS("tr[data-name=a] .name")))
	javaHolds(t, s, "b")
	waits(t, s, c.NewLock("b"), "waiter", registered(t, s, "b", 1))
	must(t, c.NewLock("a").Lock(owner(t, "me")))
	page.rowSays("b", "Java")
	page.is("%s.children[4].innerText === '2'", row("a"))
	page.is("document.activeElement.innerText === 'a'")
	page.do(chromedp.KeyEvent(kb.Enter))
	page.is("document.querySelector('#one').open")
	page.do(chromedp.KeyEvent(kb.Escape))
	page.is("!document.querySelector('#one').open")
	page.do(chromedp.Focus(chromedp.CSS("tr[data-name=a] .free")), chromedp.KeyEvent(kb.Enter))
	page.is("document.querySelector('#ask').open && document.activeElement === document.querySelector('#ask input')")
}

// Locks without a Client that tells of itself are found by a pattern. On a narrow screen only the table is wider than that.
func TestSearchOnANarrowScreen(t *testing.T) {
	s := redistest.Start(t)
	for i := range 30 {
		javaHolds(t, s, fmt.Sprintf("order:%d", i))
	}
	page := newTab(t, serve(t, newClient(t, s), redlatchui.Options{}), chromedp.EmulateViewport(390, 844))
	page.is("!document.querySelector('#none').hidden")
	page.do(chromedp.SendKeys(chromedp.CSS("#search input"), "order:1*"+kb.Enter))
	page.is("document.querySelector('#search output').innerText === '11 found'")
	page.is("document.querySelectorAll('#rows tr').length === 11")
	page.is("document.documentElement.scrollWidth <= 390")
	long := strings.Repeat("very-long-", 20)
	javaHolds(t, s, long)
	page.do(chromedp.SetValue(chromedp.CSS("#search input"), "very"), chromedp.SendKeys(chromedp.CSS("#search input"), kb.Enter))
	page.rowSays(long, "Java")
	page.is("document.documentElement.scrollWidth <= 390")
}
