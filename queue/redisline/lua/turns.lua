-- turns.lua: on and off, for the scripts that turn a queue; it stands between prelude.lua and them.

-- Turns the queue on: a new generation, an empty bucket, new books.
local function turn_on(q, state, now_us, epoch, cause, by, reserved)
  local now_ms = floor(now_us / 1000)
  call('UNLINK', K.waiting, K.running, K.heard, K.admissions, K.finished)
  put(q, 'state', state)
  put(q, 'gen', max(q.gen + 1, floor(now_us / 1000000)))
  put(q, 'epoch', epoch)
  put(q, 'cause', cause)
  put(q, 'by', by)
  put(q, 'grace', cause == 'sale' and 0 or 1)
  if cause == 'sale' then
    put(q, 'from', q.gen)
    call('UNLINK', K.ended, K.ended_old)
  end
  put(q, 'activated', now_ms)
  for _, f in ipairs(books) do put(q, f, 0) end
  for _, f in ipairs({ 'draining', 'opens', 'nw', 'nr', 'tokens', 'at', 'debt', 'hold', 'lost', 'step_at', 'disarmed',
    'empty_at', 'low_at', 'sweep', 'sweep_of', 'swept_at', 'm0_at', 'm0', 'm1_at', 'm1', 'trip', 'trip_of', 'peak', 'at_once',
    'longest' }) do put(q, f, 0) end
  put(q, 'waits', '')
  put(q, 'override', '')
  put(q, 'empty_at', now_ms)
  put(q, 'reserved', reserved)
  put(q, 'reserved_until', now_ms + q.session)
  if state == 'open' then start_bucket(q, now_us) end
  touch_version(q, now_ms)
  call('PERSIST', K.queue)
  call('PERSIST', K.ended)
  call('PERSIST', K.ended_old)
  q.exists = true
end

-- How long, in s, a queue that is off is remembered: longer where passes that may still be about have been ended.
local function keep_off(q) return q.from > 0 and max(KEEP_OFF, math.ceil((q.session + LEEWAY) / 1000)) or KEEP_OFF end

-- Turns the queue off: everybody passes. The header stays for a while, so that all nodes learn of it.
local function turn_off(q, now_ms, by_hand)
  call('UNLINK', K.waiting, K.running, K.heard, K.admissions, K.finished)
  -- Passes outlive the queue, and so must the knowledge of those that have ended.
  local passes = max(KEEP_OFF, math.ceil((q.session + LEEWAY) / 1000))
  call('EXPIRE', K.ended, passes)
  call('EXPIRE', K.ended_old, passes)
  add(q, 'left', q.nw)
  add(q, 'finished', q.nr)
  put(q, 'nw', 0)
  put(q, 'nr', 0)
  put(q, 'reserved', 0)
  put(q, 'debt', 0)
  put(q, 'state', 'off')
  put(q, 'draining', 0)
  put(q, 'override', '')
  put(q, 'disarmed', by_hand and 1 or 0)
  touch_version(q, now_ms)
  save(q)
  call('EXPIRE', K.queue, keep_off(q))
end
