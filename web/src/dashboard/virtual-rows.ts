import { useLayoutEffect, useRef, useState } from 'react'

const OVERSCAN = 8

/** Which rows to draw. All rows have the height that the style sheet sets in `--row`. */
export function useVirtualRows(count: number) {
  const viewport = useRef<HTMLTableSectionElement>(null)
  const [top, setTop] = useState(0)
  const [size, setSize] = useState({ row: 40, view: 600 })
  const isShown = count > 0
  useLayoutEffect(() => {
    const element = viewport.current
    if (!isShown || !element) return
    const measure = () => {
      const row = Number.parseInt(getComputedStyle(element).getPropertyValue('--row'), 10) || 40
      setSize({ row, view: element.clientHeight })
    }
    measure()
    const observer = new ResizeObserver(measure)
    observer.observe(element)
    return () => observer.disconnect()
  }, [isShown])
  const first = Math.max(0, Math.min(count, Math.floor(top / size.row)) - OVERSCAN)
  const last = Math.min(count, Math.ceil((top + size.view) / size.row) + OVERSCAN)
  return {
    viewport,
    first,
    last,
    above: first * size.row,
    below: (count - last) * size.row,
    onScroll: () => setTop(viewport.current?.scrollTop ?? 0),
  }
}
