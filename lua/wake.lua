-- wake: a function, put before the scripts that free a lock. It pops the waiter
-- that has waited longest, keeps the free lock for it (`turn`) so that a newcomer
-- cannot slip in, and tells it on its own channel. A waiter that nobody serves any
-- more receives nothing (PUBLISH answers 0): the next one is woken. At the end the
-- common channel is told too, for Redisson, which reads '-0' as the number 0; to a
-- Go client '-0' says that somebody was woken already.
--
-- Only called when the lock has just been freed or is free: nothing here may fail
-- the script any more, hence pcall throughout.

local function wake(turn, waiters, channel, publish, pause, counted)
  for _ = 1, 128 do -- bounds one script; the rest is left to the next release
    local first = redis.pcall('ZPOPMIN', waiters)
    if first.err or not first[1] then
      break
    end
    if type(redis.pcall('GET', turn)) == 'table' then
      break -- somebody else's key: waiters find the lock by their poll
    end
    redis.pcall('SET', turn, first[1], 'PX', pause)
    local heard = redis.pcall(publish, channel .. ':' .. first[1], '0')
    if type(heard) == 'number' and (heard > 0 or not counted) then
      break
    end
    redis.pcall('DEL', turn)
    if type(heard) == 'table' then
      break -- the user may not publish: waiters find the lock by their poll
    end
  end
  redis.pcall(publish, channel, '-0')
end
