import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import '../../../src/react/styles.css'
import './storyboard.css'
import { Storyboard } from './storyboard.tsx'

const root = document.getElementById('root')
if (!root) throw new Error('the page has no #root')
createRoot(root).render(
  <StrictMode>
    <Storyboard />
  </StrictMode>,
)
