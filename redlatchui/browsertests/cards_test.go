package browsertests

import (
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/redlatchui"
)

// In a narrow window each lock is a card: all of it is within the window, what its figures are is told, and a finger can free it.
func TestCards(t *testing.T) {
	s := redistest.Start(t)
	g := &stage{t: t, s: s, page: newClient(t, s)}
	g.set()
	page := newTab(t, serve(t, g.page, redlatchui.Options{Write: true}), chromedp.EmulateViewport(390, 844))
	page.rowSays("order:42", "billing@web-3:411", "checkout")
	page.is("document.querySelector('main').scrollWidth <= 390")
	page.is("[...document.querySelectorAll('#rows td')].every((td) => td.getBoundingClientRect().right <= 390)")
	page.is("getComputedStyle(%s.children[2], '::before').content === '\"Held for\"'", row("order:42"))
	page.is("%s.querySelector('.free').offsetHeight >= 32", row("order:42"))
	page.do(chromedp.Click("tr[data-name='order:42'] .free"), chromedp.WaitVisible("#ask"))
	page.is("document.querySelector('#ask').getBoundingClientRect().right <= 390 && document.activeElement === document.querySelector('#ask input')")
}
