"""Where answers are kept between runs."""
