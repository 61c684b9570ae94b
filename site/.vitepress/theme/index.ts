import { useData } from 'vitepress'
import theme from 'vitepress/theme'
import { defineComponent, h, onMounted, onUnmounted } from 'vue'
import picture from '../../../docs/images/late-write.svg'
import Contention from './Contention.vue'
import './contrast.css'

export default {
  extends: theme,
  Layout: () => h(theme.Layout, null, { 'home-hero-after': () => h(FrontPicture) }),
  /** What `<!-- live: … -->` of a page shows. */
  enhanceApp({ app }) {
    app.component('TwoWorkers', () => h(Contention, { kind: 'memory' }))
    app.component('TwoTabs', () => h(Contention, { kind: 'web' }))
  },
} satisfies typeof theme

const FrontPicture = defineComponent(() => {
  // VitePress gives its fronts no `<main>`, by which a screen reader finds the content.
  const content = () => document.querySelector('.VPContent')
  onMounted(() => content()?.setAttribute('role', 'main'))
  onUnmounted(() => content()?.removeAttribute('role'))
  const { frontmatter } = useData()
  return () => h('img', { class: 'front-picture', src: picture, alt: frontmatter.value.picture })
})
