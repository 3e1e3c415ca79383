package redistest

import "testing"

// Before Redis 7.0 the clock goes on while a script runs, and PTTL asks it.
const expiryScript = `
local function now()
	local t = redis.call('TIME')
	return t[1] * 1000 + math.floor(t[2] / 1000)
end
while true do
	local before, left = now(), redis.call('PTTL', KEYS[1])
	if left < 0 then
		return left
	elseif now() == before then
		return before + left
	end
end`

// ExpiresAt is when a key expires, in milliseconds since 1970 by the server's clock, as
// exactly as the server knows it. It is -1 for a key that does not, and -2 for none. It is
// PEXPIRETIME, which came with Redis 7.0, or what amounts to it.
func (s *Server) ExpiresAt(t testing.TB, key string) int64 {
	t.Helper()
	if AtLeast(t, "7.0") {
		return s.Do(t, "PEXPIRETIME", key).(int64)
	}
	return s.Do(t, "EVAL", expiryScript, 1, key).(int64)
}
