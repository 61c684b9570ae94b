/**
 * Runs in the report: one cursor through all plots of a stream, by pointer or arrow keys, and the values
 * under it in the legends. Without it the legends show the newest values.
 */
export const REPORT_SCRIPT = `
for (const section of document.querySelectorAll('section[data-stream]')) {
  const { places, moments, readings } = JSON.parse(section.querySelector('script').textContent)
  const plots = [...section.querySelectorAll('svg')]
  const outputs = [...section.querySelectorAll('.legend output')]
  const moment = section.querySelector('.moment')
  let current = places.length
  const show = (index) => {
    current = index
    const reading = index < places.length
    section.classList.toggle('reading', reading)
    moment.textContent = reading ? moments[index] : ''
    const shown = reading ? index : places.length - 1
    outputs.forEach((output, series) => { output.textContent = readings[series][shown] })
    for (const plot of plots) {
      const cursor = plot.querySelector('.cursor')
      cursor.setAttribute('x1', places[shown])
      cursor.setAttribute('x2', places[shown])
    }
  }
  const nearest = (x) => {
    let best = 0
    places.forEach((place, index) => { if (Math.abs(place - x) < Math.abs(places[best] - x)) best = index })
    return best
  }
  for (const plot of plots) {
    plot.addEventListener('pointermove', (event) => {
      const box = plot.getBoundingClientRect()
      show(nearest(((event.clientX - box.left) / box.width) * plot.viewBox.baseVal.width))
    })
    plot.addEventListener('pointerleave', () => show(places.length))
    plot.addEventListener('blur', () => show(places.length))
    plot.addEventListener('keydown', (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key]
      if (!step) return
      event.preventDefault()
      show(Math.max(0, Math.min(places.length - 1, (current < places.length ? current : places.length - 1) + step)))
    })
  }
}
`
