-- wake: a function, put before the scripts that free a lock. It passes the lock on to one client:
-- 1. It pops the client that has waited longest.
-- 2. It grants that client the lock, if it may (grant), and is done. Otherwise it wakes it:
-- 3. It keeps the free lock for that client (`turn`), so that a newcomer cannot slip in.
-- 4. It publishes on the client's own channel. PUBLISH answers 0 if the client is gone:
--    then it goes on with the next one.
-- 5. It publishes '-0' on the common channel. Redisson reads that as the number 0; it
--    tells a Go client that another one was woken already. A grant does not: the lock is
--    not free.
--
-- Redisson's waiters are in no registry and slower than a woken Go client, which
-- would always come first. So if there are any, no Go client is granted or may take the free lock for
-- `yield` ms (turn '*', which Redisson does not look at). The woken Go client tries
-- again after that, or when it hears of Redisson's release.
--
-- It is only called when the lock has just been freed or is free. The script must not
-- fail any more, hence pcall throughout.

local function keep(turn, for_whom, ms)
  if type(redis.pcall('GET', turn)) == 'table' then
    return false -- another program's key: waiters find the lock by their poll
  end
  redis.pcall('SET', turn, for_whom, 'PX', ms)
  return true
end

-- token is nil unless the owner that has released had a token.

local function wake(lock, turn, waiters, grants, token, channel, how)
  local publish, pause, yield, counted = passing(how)
  local waiting = -1
  if counted then
    waiting, publish = redisson_waiters(channel, publish)
    counted = waiting >= 0
  end
  local yields = waiting > 0
  if yields then
    keep(turn, '*', yield)
  end
  for _ = 1, 128 do -- bounds one script; the rest is left to the next release
    local first = redis.pcall('ZPOPMIN', waiters)
    if first.err or not first[1] then
      break
    end
    if counted and not yields and grant(lock, grants, token, first[1], channel, publish) then
      redis.pcall('DEL', turn) -- of a client that was overtaken: it would keep the lock from newcomers after the grant
      return
    end
    if not (yields or keep(turn, first[1], pause)) then
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
  -- Also if this server has no subscriber: Redisson may subscribe at a replica
  -- (subscriptionMode), which gets the message and is in no count.
  redis.pcall(publish, channel, '-0')
end
