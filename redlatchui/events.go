package redlatchui

import (
	"fmt"
	"net/http"
	"time"
)

// quiet is after how long without a word the page is told that the connection lives.
const quiet = 15 * time.Second

// events sends what is shown to one page, as server-sent events, until the browser or the server ends the request.
func (h *Handler) events(w http.ResponseWriter, r *http.Request) {
	out := http.NewResponseController(w)
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // a proxy is not to collect them
	page := h.board.open()
	defer h.board.close(page)
	timer := time.NewTimer(quiet)
	defer timer.Stop()
	for {
		text := ": alive\n\n"
		select {
		case word := <-page:
			text = fmt.Sprintf("data: %s\n\n", word)
		case <-timer.C:
		case <-r.Context().Done():
			return
		}
		timer.Reset(quiet)
		_ = out.SetWriteDeadline(time.Now().Add(quiet)) // a server without deadlines has none to set
		if _, err := w.Write([]byte(text)); err != nil || out.Flush() != nil {
			return
		}
	}
}
