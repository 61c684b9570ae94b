/** The last minutes of a figure, small. */
export function Sparkline({ values }: { readonly values: readonly (number | null)[] }) {
  const top = Math.max(1, ...values.map((value) => value ?? 0))
  const x = (index: number) => ((index * 96) / Math.max(1, values.length - 1)).toFixed(1)
  const y = (value: number) => (22 - (20 * value) / top).toFixed(1)
  const path = values.map((value, index) => {
    if (value === null) return ''
    const isStart = (values[index - 1] ?? null) === null
    return `${isStart ? 'M' : 'L'}${x(index)} ${y(value)}${isStart ? 'h0' : ''}`
  })
  return (
    <svg className="spark" viewBox="0 0 96 24" aria-hidden="true">
      <path className="line" d={path.join('')} />
    </svg>
  )
}
