-- wake: a function, put before the scripts that free a lock. It pops the waiter
-- that has waited longest, keeps the free lock for it (`turn`) so that a newcomer
-- cannot slip in, and tells it on its own channel. A waiter that nobody serves any
-- more receives nothing (PUBLISH answers 0): the next one is woken. At the end the
-- common channel is told too, for Redisson, which reads '-0' as the number 0; to a
-- Go client '-0' says that somebody was woken already.
--
-- Redisson's waiters are in no registry and slower than a woken Go client, which
-- would always come first. So if there are any, the free lock is kept for nobody
-- (turn '*', which Redisson does not look at) for `yield` ms. The woken Go client
-- tries again after that, or when it hears of Redisson's release.
--
-- Only called when the lock has just been freed or is free: nothing here may fail
-- the script any more, hence pcall throughout.

local function keep(turn, for_whom, ms)
  if type(redis.pcall('GET', turn)) == 'table' then
    return false -- somebody else's key: waiters find the lock by their poll
  end
  redis.pcall('SET', turn, for_whom, 'PX', ms)
  return true
end

local function wake(turn, waiters, channel, listeners, publish, pause, yield, counted)
  local waiting = -1
  if counted then
    waiting, publish = redisson_waiters(channel, listeners, publish)
    counted = waiting >= 0
  end
  local yields = waiting > 0
  if yields then
    keep(turn, '*', yield)
  end
  for _ = 1, 128 do -- bounds one script; the rest is left to the next release
    local first = redis.pcall('ZPOPMIN', waiters)
    if first.err or not first[1] or not (yields or keep(turn, first[1], pause)) then
      break
    end
    local heard = redis.pcall(publish, channel .. ':' .. first[1], '0')
    if type(heard) == 'number' and (heard > 0 or not counted) then
      break
    end
    if not yields then
      redis.pcall('DEL', turn)
    end
    if type(heard) == 'table' then
      break -- the user may not publish: waiters find the lock by their poll
    end
  end
  -- Also if nobody listens here: Redisson may subscribe at a replica (subscriptionMode),
  -- whom the message reaches and no count shows.
  redis.pcall(publish, channel, '-0')
end

-- wake_redisson is wake when nobody is registered. If nobody hears it either there is nobody
-- to keep the lock for, and nothing to count. What is published is delivered after the
-- script, so the turn is kept in time. Only for PUBLISH: with SPUBLISH the node has to be
-- asked first whether it has that.
local function wake_redisson(turn, channel, listeners, publish, yield, counted)
  local heard = redis.pcall(publish, channel, '-0')
  if heard ~= 0 and counted and redisson_waiters(channel, listeners, publish) > 0 then
    keep(turn, '*', yield)
  end
end
