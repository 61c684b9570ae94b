export function format(value: number | null, unit: string): string {
  if (value === null) return '–'
  const rounded =
    value >= 100 || Number.isInteger(value) ? Math.round(value).toLocaleString() : value.toFixed(1)
  return unit ? `${rounded} ${unit}` : rounded
}
