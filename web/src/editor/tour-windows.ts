import { useEffect, useRef, useState } from 'react'
import { randomId } from '../../../src/base/random-id.ts'
import { usePlugged } from './plug.ts'

const CHANNEL = 'holdfast:tour'

/** What the steps must know of a window, or of the frame in it. */
export interface TourWindow {
  readonly isPlugged: boolean
  /** It edits, or believes that it does. */
  readonly isHeld: boolean
  /** Its text cannot be saved, because others have saved since. */
  readonly isRefused: boolean
  /** That is so, or was. */
  readonly wasRefused: boolean
}

interface Message extends TourWindow {
  readonly id: string
  readonly isGone?: boolean
  /** The window has just opened, and does not know the others. */
  readonly isNew?: boolean
}

/** Tells the other windows of this browser about this one. Returns this one, and then the others. */
export function useTourWindows(isHeld: boolean, isRefused: boolean): readonly TourWindow[] {
  const isPlugged = usePlugged()
  const [wasRefused, setRefused] = useState(false)
  if (isRefused && !wasRefused) setRefused(true)
  const [others, setOthers] = useState<ReadonlyMap<string, TourWindow>>(new Map())
  const own = useRef<Message>({ id: '', isPlugged, isHeld, isRefused, wasRefused })
  const channel = useRef<BroadcastChannel>(undefined)
  useEffect(() => {
    own.current = { ...own.current, isPlugged, isHeld, isRefused, wasRefused }
    channel.current?.postMessage(own.current)
  }, [isPlugged, isHeld, isRefused, wasRefused])
  useEffect(() => {
    const opened = new BroadcastChannel(CHANNEL)
    const leave = () => opened.postMessage({ ...own.current, isGone: true })
    own.current = { ...own.current, id: randomId() }
    channel.current = opened
    opened.onmessage = ({ data }: MessageEvent<Message>) => {
      setOthers((known) => {
        const changed = new Map(known)
        if (data.isGone) changed.delete(data.id)
        else changed.set(data.id, data)
        return changed
      })
      if (data.isNew) opened.postMessage(own.current)
    }
    opened.postMessage({ ...own.current, isNew: true })
    addEventListener('pagehide', leave)
    return () => {
      removeEventListener('pagehide', leave)
      leave()
      opened.close()
    }
  }, [])
  return [{ isPlugged, isHeld, isRefused, wasRefused }, ...others.values()]
}
