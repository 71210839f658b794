-- announce.lua: a queue's header is written into the list of queues and told to all nodes, unless a newer one stands there.
-- KEYS[1]  hash    item -> "version header"
-- KEYS[2]  stream  of changes
-- ARGV[1]  item
-- ARGV[2]  version  integer
-- ARGV[3]  header   JSON
-- Returns  1 where it was news, else 0
-- Cost     O(1)
-- Why one script: a late announcement of an old state must not undo a newer one.

local known = redis.call('HGET', KEYS[1], ARGV[1])
if known and tonumber(string.match(known, '^%d+')) >= tonumber(ARGV[2]) then return 0 end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2] .. ' ' .. ARGV[3])
redis.call('XADD', KEYS[2], 'MAXLEN', '~', 10000, '*', 'queue', ARGV[3])
return 1
