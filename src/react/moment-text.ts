import { useEffect, useReducer } from 'react'
import { systemClock } from '../base/clock.ts'

/** Making a format takes much longer than using it, and a list may have hundreds of times. */
const formats = new Map<string, Intl.DateTimeFormat>()

/** The time of day; before today also the date, and before this year also the year. */
export function momentText(
  at: number,
  lang: string | undefined,
  precision: 'minutes' | 'seconds' = 'minutes',
): string {
  const [then, now] = [new Date(at), new Date(systemClock.now())]
  const isToday = then.toDateString() === now.toDateString()
  const isThisYear = then.getFullYear() === now.getFullYear()
  // The machine may come into another time zone.
  const key = [lang, precision, isToday, isThisYear, then.getTimezoneOffset()].join()
  const format =
    formats.get(key) ??
    new Intl.DateTimeFormat(lang, {
      ...(!isToday && { month: 'short', day: 'numeric' }),
      ...(!isThisYear && { year: 'numeric' }),
      hour: '2-digit',
      minute: '2-digit',
      ...(precision === 'seconds' && { second: '2-digit' }),
      hourCycle: 'h23',
    })
  formats.set(key, format)
  return format.format(then)
}

/** Renders again at midnight, when "Saved 16:35" would become wrong. */
export function useEveryDay(): void {
  const [day, renderAgain] = useReducer((days: number) => days + 1, 0)
  // biome-ignore lint/correctness/useExhaustiveDependencies: each day sets the timer for the next one.
  useEffect(() => {
    const midnight = new Date(systemClock.now()).setHours(24, 0, 1)
    return systemClock.setTimer(renderAgain, midnight - systemClock.now())
  }, [day])
}
