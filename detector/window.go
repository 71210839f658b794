package detector

// Window counts events in a sliding window (now − width, now], in sub-buckets of max(100 ms, width ÷ 1000). A bucket
// holds (start, end]: an event at its end belongs to it, so stamps in whole seconds count exactly wherever the bucket
// divides a second. The oldest bucket, where the window covers it in part, counts pro rata: the sum is wrong by at
// most a part of what lies in that one bucket. Only buckets that hold something take memory, and a call costs what has
// expired since the last one. The zero value has no width; NewWindow gives it one. Not safe for concurrent use.
type Window struct {
	widthMS, bucketMS int64
	ring              []bucket // a power of two long
	head, n           int
	sum               int64
}

type bucket struct {
	index int64 // the bucket (index−1)·bucketMS < t <= index·bucketMS
	count int64
}

// BucketMS is the length of a sub-bucket of a window, in ms.
func BucketMS(widthMS int64) int64 { return max(100, widthMS/1000) }

// NewWindow gives a window of a width in ms, above 0.
func NewWindow(widthMS int64) Window { return Window{widthMS: widthMS, bucketMS: BucketMS(widthMS)} }

// WidthMS is the width of the window in ms.
func (w *Window) WidthMS() int64 { return w.widthMS }

// Empty reports whether the window holds nothing; what has expired may still be in it until the next Sum.
func (w *Window) Empty() bool { return w.n == 0 }

// Add counts n events at an instant (any int64 of ms, also negative). Events may come late; what is older than the
// window counts nothing.
func (w *Window) Add(ms, n int64) {
	if n <= 0 {
		return
	}
	index := ceilDiv(ms, w.bucketMS)
	if w.n > 0 {
		if last := w.at(w.n - 1); last.index == index {
			last.count += n
			w.sum += n
			return
		} else if last.index > index {
			w.addLate(index, n)
			return
		}
	}
	w.push(bucket{index, n})
	w.sum += n
	w.expire(ms)
}

// addLate counts events in a bucket before the newest.
func (w *Window) addLate(index, n int64) {
	if newest := w.at(w.n-1).index * w.bucketMS; index*w.bucketMS <= newest-w.bucketMS-w.widthMS {
		return
	}
	w.sum += n
	i := w.n
	for i > 0 && w.at(i-1).index > index {
		i--
	}
	if i > 0 && w.at(i-1).index == index {
		w.at(i - 1).count += n
		return
	}
	w.push(bucket{})
	for j := w.n - 1; j > i; j-- {
		*w.at(j) = *w.at(j - 1)
	}
	*w.at(i) = bucket{index, n}
}

// Sum is how many events lie in (now − width, now]. Events after now count too: a clock that was ahead loses nothing.
func (w *Window) Sum(nowMS int64) float64 {
	w.expire(nowMS)
	if w.n == 0 {
		return 0
	}
	oldest := w.at(0)
	end := oldest.index * w.bucketMS
	if cut := nowMS - w.widthMS - (end - w.bucketMS); cut > 0 {
		return float64(w.sum-oldest.count) + float64(oldest.count)*float64(w.bucketMS-cut)/float64(w.bucketMS)
	}
	return float64(w.sum)
}

// FallsBelow is the first instant, in whole ms and not before now, at which Sum is below limit if nothing more comes;
// false where it never is (a limit of 0 or less).
func (w *Window) FallsBelow(limit float64, nowMS int64) (int64, bool) {
	if limit <= 0 {
		return 0, false
	}
	if w.Sum(nowMS) < limit {
		return nowMS, true
	}
	left := float64(w.sum)
	for i := range w.n {
		b := w.at(i)
		left -= float64(b.count)
		if left >= limit {
			continue
		}
		// In this bucket: left + count·share < limit, the share falling from 1 at start + width to 0 at end + width.
		share := (limit - left) / float64(b.count)
		at := b.index*w.bucketMS + w.widthMS - int64(share*float64(w.bucketMS))
		at = max(at, nowMS, (b.index-1)*w.bucketMS+w.widthMS)
		for left+float64(b.count)*float64(b.index*w.bucketMS+w.widthMS-at)/float64(w.bucketMS) >= limit {
			at++
		}
		return at, true
	}
	return 0, false
}

// Resize changes the width. What is counted stays as far as the new width covers it, so nothing trips from leftovers;
// a wider window is right once its own width has passed.
func (w *Window) Resize(widthMS int64) {
	if widthMS == w.widthMS {
		return
	}
	old := *w
	*w = NewWindow(widthMS)
	for i := range old.n {
		b := old.at(i)
		w.Add(b.index*old.bucketMS, b.count)
	}
}

// expire drops the buckets that lie wholly before the window.
func (w *Window) expire(nowMS int64) {
	gone := nowMS - w.widthMS
	for w.n > 0 {
		b := w.at(0)
		if b.index*w.bucketMS > gone {
			return
		}
		w.sum -= b.count
		w.head = (w.head + 1) & (len(w.ring) - 1)
		w.n--
	}
}

func (w *Window) at(i int) *bucket { return &w.ring[(w.head+i)&(len(w.ring)-1)] }

func (w *Window) push(b bucket) {
	if w.n == len(w.ring) {
		grown := make([]bucket, max(2, 2*len(w.ring)))
		for i := range w.n {
			grown[i] = *w.at(i)
		}
		w.ring, w.head = grown, 0
	}
	w.n++
	*w.at(w.n - 1) = b
}

// ceilDiv is a ÷ b rounded up, for b > 0 and any a.
func ceilDiv(a, b int64) int64 {
	q := a / b
	if a%b > 0 {
		q++
	}
	return q
}
