-- released: the end of release. The lock is free, and somebody may wait. told: the message for all
-- was published, and no client of ours is registered.

if not told then
  wake(lock, turn, waiters, grants, token, channel, how)
  return freed
end
local publish, _, yield, counted = passing(how)
if counted and redisson_waiters(channel, publish) > 0 then
  keep(turn, '*', yield)
end
return freed
