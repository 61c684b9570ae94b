/** At most two units: `850ms`, `21s`, `2m 10s`, `3h 5m`. */
export function formatDuration(ms: number): string {
  if (ms < 1000) return `${Math.max(0, Math.round(ms))}ms`
  const seconds = Math.floor(ms / 1000)
  if (seconds < 60) return `${seconds}s`
  if (seconds < 3600) return inTwoUnits(seconds, [60, 'm'], [1, 's'])
  if (seconds < 86_400) return inTwoUnits(seconds, [3600, 'h'], [60, 'm'])
  return inTwoUnits(seconds, [86_400, 'd'], [3600, 'h'])
}

type Unit = readonly [seconds: number, name: string]

function inTwoUnits(seconds: number, [large, largeName]: Unit, [small, smallName]: Unit): string {
  const rest = Math.floor((seconds % large) / small)
  return `${Math.floor(seconds / large)}${largeName}${rest ? ` ${rest}${smallName}` : ''}`
}
