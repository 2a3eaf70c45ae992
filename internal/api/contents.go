package api

import (
	"container/list"
	"context"
	"fmt"
	"sync"

	"muster/internal/wire"
)

// contentCacheBytes bounds the scripts and environments kept in memory.
const contentCacheBytes = 32 << 20

// contentCache keeps the contents that were used last.
type contentCache struct {
	mu    sync.Mutex
	most  int
	size  int
	items map[contentKey]*list.Element
	order *list.List // of contentItem, the last used in front
}

type contentKey struct {
	uid  uint32
	hash string
}

type contentItem struct {
	key  contentKey
	data []byte
}

func (c *contentCache) init(most int) {
	c.most, c.items, c.order = most, map[contentKey]*list.Element{}, list.New()
}

func (c *contentCache) add(uid uint32, hash, data []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := contentKey{uid, string(hash)}
	if e, ok := c.items[key]; ok {
		c.order.MoveToFront(e)
		return
	}
	c.items[key] = c.order.PushFront(contentItem{key, data})
	c.size += len(data)
	for c.size > c.most {
		last := c.order.Back()
		item := c.order.Remove(last).(contentItem)
		delete(c.items, item.key)
		c.size -= len(item.data)
	}
}

func (c *contentCache) get(uid uint32, hash []byte) ([]byte, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.items[contentKey{uid, string(hash)}]
	if !ok {
		return nil, false
	}
	c.order.MoveToFront(e)
	return e.Value.(contentItem).data, true
}

// content reads a script or environment, from memory or from the store.
func (s *Server) content(ctx context.Context, uid uint32, ref *wire.ContentRef) ([]byte, error) {
	if ref == nil || len(ref.Hash) == 0 {
		return nil, nil
	}
	if data, ok := s.contents.get(uid, ref.Hash); ok {
		return data, nil
	}
	data, err := s.Accounting.Content(ctx, uid, ref.Hash)
	if err != nil {
		return nil, fmt.Errorf("read the content %x: %w", ref.Hash[:4], err)
	}
	s.contents.add(uid, ref.Hash, data)
	return data, nil
}
