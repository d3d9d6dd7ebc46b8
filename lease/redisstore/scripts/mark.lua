-- Leaves a mark that a node waits for a lock.
-- KEYS[1] the mark
-- ARGV[1] the origin, which names the node, ARGV[2] the life of the mark in ms
-- Replies 1.
-- The mark is the last two origins that differ, the newest first, with a zero
-- byte between them: whoever looks can then tell whether another node waits.

local old = redis.call('GET', KEYS[1])
local mark = ARGV[1]
if old then
  local stop = string.find(old, '\0', 1, true)
  local first = stop and string.sub(old, 1, stop - 1) or old
  if first ~= mark then
    mark = mark .. '\0' .. first
  else
    mark = old
  end
end
redis.call('SET', KEYS[1], mark, 'PX', ARGV[2])
return 1
